"""The window's types are those of the events that are stored."""

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "ui" / "shapes.py"


def loaded():
    spec = importlib.util.spec_from_file_location("window_shapes", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_written_types_are_those_of_the_events():
    shapes = loaded()

    assert shapes.TARGET.read_text(encoding="utf-8") == shapes.written()


def test_a_stale_file_is_told(tmp_path, monkeypatch, capsys):
    shapes = loaded()
    stale = tmp_path / "events.ts"
    stale.write_text("// old\n", encoding="utf-8")
    shapes.TARGET = stale
    monkeypatch.setattr(sys, "argv", ["shapes.py", "--check"])

    assert shapes.main() == 1
    assert "is stale: run 'python ui/shapes.py'" in capsys.readouterr().err
    assert stale.read_text(encoding="utf-8") == "// old\n"


def test_the_check_of_what_is_there_passes():
    done = subprocess.run([sys.executable, SCRIPT, "--check"], check=False)

    assert done.returncode == 0
