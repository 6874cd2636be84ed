"""The window's types are those of the stored events and of the server's own description."""

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


def test_the_written_types_are_those_of_the_wire():
    done = subprocess.run([sys.executable, SCRIPT, "--check"], check=False)

    assert done.returncode == 0


def test_a_stale_file_is_told(tmp_path, monkeypatch, capsys):
    shapes = loaded()
    shapes.FOLDER = tmp_path
    monkeypatch.setattr(sys, "argv", ["shapes.py"])
    assert shapes.main() == 0
    (tmp_path / "responses.ts").write_text("// old\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["shapes.py", "--check"])

    assert shapes.main() == 1
    assert capsys.readouterr().err == "responses.ts is stale: run 'python ui/shapes.py'.\n"
    assert (tmp_path / "responses.ts").read_text(encoding="utf-8") == "// old\n"


def test_a_shape_of_an_answer_has_every_field_with_its_type_and_meaning():
    listing = {
        "properties": {
            "tasks": {"type": "array", "items": {"$ref": "#/components/schemas/Task"}},
            "next": {
                "anyOf": [{"type": "integer"}, {"type": "null"}],
                "description": "The next page.",
            },
        },
    }
    described = {
        "paths": {"/tasks": {"get": {"responses": {"200": _answers("TaskList")}}}},
        "components": {
            "schemas": {
                "TaskList": listing,
                "Task": {"description": "Work.", "properties": {"status": {"enum": ["a", "b"]}}},
                "Asked": {"properties": {}},
            }
        },
    }

    _, _, task, tasks = loaded()._responses(described).strip().split("\n\n")

    assert task == '/** Work. */\nexport interface Task {\n  status: "a" | "b";\n}'
    assert tasks == (
        "export interface TaskList {\n  tasks: Task[];\n"
        "  /** The next page. */\n  next: number | null;\n}"
    )


def _answers(name):
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"content": {"application/json": {"schema": schema}}}
