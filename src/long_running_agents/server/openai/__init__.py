"""The agent for programs that speak OpenAI's protocols: chat completions and responses."""
