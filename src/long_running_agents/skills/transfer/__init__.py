"""Skills that leave as one Python module, and come back."""
