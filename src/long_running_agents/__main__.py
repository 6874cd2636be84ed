"""`python -m long_running_agents` is `lra`."""

import sys

from long_running_agents.cli.main import run

if __name__ == "__main__":
    sys.exit(run())
