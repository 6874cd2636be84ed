"""The window in a real browser. A package, so that what its tests share ends with them."""
