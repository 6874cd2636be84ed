import os

import pytest

from long_running_agents.errors import SandboxUnavailable
from long_running_agents.sandbox import kernel_sandbox


def test_nobody_gets_an_id_that_somebody_has(tmp_path):
    first, second = kernel_sandbox.borrow(tmp_path), kernel_sandbox.borrow(tmp_path)

    assert kernel_sandbox.FIRST <= first.uid < second.uid <= kernel_sandbox.LAST
    first.release()
    assert kernel_sandbox.borrow(tmp_path).uid == first.uid


def test_who_shares_a_workspace_shares_an_id_until_the_last_has_gone(tmp_path):
    first = kernel_sandbox.borrow(tmp_path)
    joined = kernel_sandbox.join(first.uid, tmp_path)
    first.release()

    assert kernel_sandbox.borrow(tmp_path).uid != joined.uid
    joined.release()
    assert kernel_sandbox.borrow(tmp_path).uid == joined.uid


def test_when_all_are_taken_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_sandbox, "LAST", kernel_sandbox.FIRST)
    held = kernel_sandbox.borrow(tmp_path)

    with pytest.raises(SandboxUnavailable):
        kernel_sandbox.borrow(tmp_path)
    held.release()


def test_what_is_given_away_is_only_what_is_inside(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("x")
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "file").write_text("x")
    (folder / "link").symlink_to(outside)
    (folder / "second").hardlink_to(outside)
    before = outside.stat()

    # Whoever runs the tests may give to themselves, the superuser to anybody.
    new = 60578 if os.geteuid() == 0 else os.geteuid()
    kernel_sandbox.give(folder, new)

    assert (folder / "deep").stat().st_uid == (folder / "file").stat().st_uid == new
    assert outside.stat().st_uid == before.st_uid
