"""The control: harmless cases without any sandbox, to show that they can succeed at all."""

import json
import shutil
import subprocess

from tests.attacks.cases import Case, filled
from tests.attacks.sandboxed import MARK
from tests.attacks.stage import Stage

_CALL = """
import json, sys
asked, names = json.loads(sys.argv[1]), {}
exec(asked["source"], names)
print(names[asked["function"]](**asked["kwargs"]))
"""
_PYTHON = "/usr/bin/python3"


def run(case: Case, stage: Stage) -> list[str]:
    """Run a case that is marked as harmless, as the user of the stage; what came of it."""
    if not case.control:
        raise ValueError(f"{case.id} is not to be run without a sandbox")
    stage.reset()
    folder = stage.root / "control"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if stage.user is not None:
        shutil.chown(folder, stage.user, stage.user)
    hits = stage.hits
    code = filled(case.code, stage.places)
    words = {
        "tool": [_PYTHON, "-c", _CALL, json.dumps(code)],
        "shell": ["bash", "-c", code],
        "python": [_PYTHON, "-c", code],
    }[case.lang]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=case.timeout + 10,
        cwd=folder,
        env={**stage.environment, "PATH": "/usr/bin:/bin"},
        user=stage.user,
        check=False,
    )
    found = stage.damage(hits)
    return [*found, "it says so"] if MARK in done.stdout else found
