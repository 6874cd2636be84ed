"""`python -m long_running_agents.memory "query"`: another door to `lra memory search`.

It is an entry point and no part of this room: nothing imports it, and it only calls the program.
"""

import sys

from long_running_agents.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["memory", "search", *sys.argv[1:]]))
