"""The model in the box: weights that are pulled once, and an engine in this process."""
