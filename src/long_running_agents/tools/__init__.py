"""What the model may call: one file per toolset, thin over the rooms below."""
