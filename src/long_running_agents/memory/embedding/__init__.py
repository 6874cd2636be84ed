"""From a text to a vector: the embedders, and which of them is used."""
