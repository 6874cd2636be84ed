"""Frozen data and pure functions: what the words mean and what follows from what."""
