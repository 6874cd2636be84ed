"""Measures our turns beside those of other agent libraries: `python -m benchmarks`."""
