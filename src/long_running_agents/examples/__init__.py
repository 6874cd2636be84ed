"""Examples: run them with `python -m long_running_agents.examples.NAME`."""
