import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import importlib, pkgutil, sys

acts = []
def watch(event, args):
    if event in ("socket.connect", "socket.bind", "subprocess.Popen", "os.mkdir", "os.rename"):
        acts.append((event, str(args)))
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        acts.append((event, str(args)))
sys.dont_write_bytecode = True
sys.addaudithook(watch)

import long_running_agents

names = ["long_running_agents"] + [
    module.name
    for module in pkgutil.walk_packages(long_running_agents.__path__, "long_running_agents.")
    if not module.name.endswith("__main__") and ".migrations" not in module.name
]
for name in names:
    importlib.import_module(name)
assert not acts, acts
sys.exit(len(names) < 50)
"""


def test_importing_everything_does_nothing(tmp_path):
    home = tmp_path / "home"
    folder = tmp_path / "cwd"
    folder.mkdir()

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        cwd=folder,
        env={**os.environ, "LRA_HOME": str(home), "HOME": str(tmp_path / "person")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not home.exists()
    assert not Path(tmp_path / "person").exists()
    assert list(folder.iterdir()) == []
