"""Long Running Agents."""

__version__ = "0.1.0"
