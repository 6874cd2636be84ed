"""Engines: who runs a turn, when, and again after a death."""
