"""The agent as a server of the Model Context Protocol: over HTTP, and over stdin and stdout."""
