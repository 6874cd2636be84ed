import json
import os
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from long_running_agents.domain.workspace import is_sensitive
from long_running_agents.errors import LraError, NotFound, PathRefused
from long_running_agents.sandbox.kernel_sandbox import sensitive_in
from long_running_agents.workspace.workspace import Workspace

CASES = Path(__file__).parents[2] / "attacks" / "paths.jsonl"
PATHS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
SECRET = b"canary-7f91"


@pytest.fixture(params=["openat2", "by parts"])
def workspace(request, tmp_path):
    root = tmp_path / "workspace"
    root.mkdir()
    return Workspace(root, openat2=request.param == "openat2")


@pytest.fixture
def outside(workspace, tmp_path):
    """Everything that foreign code could plant to be led or to lead out."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "notes").write_bytes(SECRET)
    root = workspace.root
    (root / "a").mkdir()
    (root / "hostlink").symlink_to(folder)
    (root / "pw").symlink_to("/etc/passwd")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe.txt")
    (root / "second").hardlink_to(folder / "notes")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(root / "door"))
    return folder


def test_files_are_written_read_and_listed(workspace):
    workspace.write("notes/today.txt", b"hello")
    workspace.write("/workspace/notes/today.txt", b" again", append=True)

    assert workspace.read("notes/today.txt") == b"hello again"
    assert workspace.read("notes/today.txt", offset=6, limit=3) == b"aga"
    assert workspace.size("notes/today.txt") == 11
    assert [(e.path, e.size, e.folder) for e in workspace.entries(depth=2)] == [
        ("notes", 0, True),
        ("notes/today.txt", 11, False),
    ]
    assert [e.path for e in workspace.entries("/workspace/notes")] == ["notes/today.txt"]


def test_writing_replaces_all_of_a_file(workspace):
    workspace.write("a", b"long text")
    workspace.write("a", b"short")

    assert workspace.read("a") == b"short"


def test_what_is_removed_is_gone(workspace):
    workspace.write("folder/file", b"x")
    workspace.remove("folder/file")
    workspace.remove("folder")

    assert workspace.entries() == []
    with pytest.raises(NotFound):
        workspace.read("folder/file")


@pytest.mark.parametrize("case", PATHS, ids=lambda case: case["id"])
def test_no_planted_path_leads_out(workspace, outside, case):
    path = case["code"].replace("{OUT}", str(outside))

    with pytest.raises(LraError):
        workspace.read(path)
    for path_outside in ("../outside/new", f"{outside}/new", "hostlink/new", "a/../../outside/new"):
        with pytest.raises(LraError):
            workspace.write(path_outside, b"x")
        with pytest.raises(LraError):
            workspace.entries(path_outside.removesuffix("/new"))
    assert [entry.name for entry in outside.iterdir()] == ["notes"]


@pytest.mark.parametrize("name", ["second", "hostlink", "pw", "loop", "pipe.txt", "door", "a"])
def test_what_is_no_file_of_its_own_is_neither_read_nor_written(workspace, outside, name):
    for act in (workspace.read, lambda path: workspace.write(path, b"x")):
        with pytest.raises(LraError):
            act(name)

    assert (outside / "notes").read_bytes() == SECRET


def test_only_files_and_folders_are_listed(workspace, outside):
    assert [entry.path for entry in workspace.entries(depth=3)] == ["a", "second"]


def test_removing_a_link_leaves_its_target(workspace, outside):
    workspace.remove("hostlink")

    assert (outside / "notes").exists()
    assert not (workspace.root / "hostlink").is_symlink()


@pytest.mark.parametrize(
    "name",
    [".env", ".ENV", ".env.local", ".ssh", "id_rsa", "id_ed25519.pub", "a.pem", "lra.db-wal"],
)
def test_secrets_are_out_of_reach_even_inside(workspace, name):
    (workspace.root / "deep").mkdir()
    (workspace.root / "deep" / name).write_text("secret")

    for path in (f"deep/{name}", f"deep/{name}/config"):
        with pytest.raises(PathRefused):
            workspace.read(path)
        with pytest.raises(PathRefused):
            workspace.write(path, b"x")
    assert [entry.path for entry in workspace.entries(depth=2)] == ["deep"]
    assert sensitive_in(workspace.root) == [(f"deep/{name}", False)]


def test_examples_of_secrets_are_no_secrets():
    assert not is_sensitive(".env.example")
    assert not is_sensitive("environment.py")
    assert not is_sensitive("keyboard.txt")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["..", ".", "a", "hostlink", "/", "", "notes", "//"]), max_size=6))
def test_no_mixture_of_parts_reads_the_secret(workspace, outside, parts):
    try:
        found = workspace.read("/".join(parts))
    except LraError:
        return
    assert found != SECRET
