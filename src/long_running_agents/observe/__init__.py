"""Logs, observers, traces and metrics: what is told about the program while it runs."""
