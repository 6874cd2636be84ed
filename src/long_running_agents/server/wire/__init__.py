"""The shapes of what goes over the wire, a file for each noun."""
