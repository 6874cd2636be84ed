"""The server: the agent over HTTP and WebSocket, for browsers, programs and other agents."""
