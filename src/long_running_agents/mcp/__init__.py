"""Foreign servers that speak the Model Context Protocol: read of, started, spoken to, ended."""
