"""Thinking: from a stored message to its answer, fact by fact."""
