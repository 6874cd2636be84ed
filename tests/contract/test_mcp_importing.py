import subprocess
import sys

PROGRAM = """
import sys
import long_running_agents.app
import long_running_agents.cli.serve
heavy = {"mcp", "mcp_types", "jsonschema", "jwt", "sse_starlette"} & set(sys.modules)
assert not heavy, heavy
"""


def test_opening_the_house_does_not_import_the_protocol():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
