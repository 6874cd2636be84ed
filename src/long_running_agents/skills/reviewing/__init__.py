"""Reading a function from its source alone: what it takes and returns, and its faults."""
