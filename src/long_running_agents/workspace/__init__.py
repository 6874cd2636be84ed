"""The agent's folder: reading, editing and searching files, and looking at tables."""
