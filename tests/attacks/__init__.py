"""The attack suite: what hostile code tries, and what must not come of it."""
