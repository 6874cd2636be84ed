"""Remembering across sessions."""
