"""Looks into the folder of skills, with a workspace that counts what is read."""

import os
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from tests.unit.skills.versions import DOUBLE, NOW
from tests.unit.store.house import house

from long_running_agents.config.settings import SkillSettings
from long_running_agents.domain.redaction import Redactor
from long_running_agents.sandbox.base import ExecResult
from long_running_agents.skills.context import SkillContext, SkillIndexes
from long_running_agents.skills.library import SkillFileSync, SkillLibrary
from long_running_agents.skills.trial import Trials
from long_running_agents.store import skills
from long_running_agents.testing import FrozenClock
from long_running_agents.workspace.workspace import Workspace

pytestmark = pytest.mark.anyio

BROKEN = "def broken(:\n"


class CountingWorkspace(Workspace):
    """Remembers which files were read."""

    def __init__(self, root):
        super().__init__(root)
        self.reads = []

    def read(self, path, **options):
        self.reads.append(path)
        return super().read(path, **options)


class EvenSandbox:
    """Gives an even number, whatever is called."""

    async def call(self, *_, **__):
        return ExecResult(value=4)


@dataclass
class Desk:
    folder: CountingWorkspace
    sandboxes = None


@asynccontextmanager
async def lent():
    yield EvenSandbox()


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "workspace" / "skills").mkdir(parents=True)
    return CountingWorkspace(tmp_path / "workspace")


@pytest.fixture
async def room(tmp_path, workspace):
    clock = FrozenClock(NOW)
    async with house(tmp_path / "home") as database:
        yield SkillContext(
            database=database,
            clock=clock,
            settings=SkillSettings(),
            redact=Redactor(()),
            trials=Trials(lent, clock),
            reserved=frozenset(),
            place=lambda _: Desk(workspace),
            announce=lambda _: None,
            indexes=SkillIndexes(database),
        )


@pytest.fixture
def library(room):
    return SkillLibrary(room, "me")


@pytest.fixture
def filing(room, library):
    return SkillFileSync(room, library)


def put(workspace, name, content):
    file = workspace.root / "skills" / name
    file.write_text(content)
    return file


async def settle(filing, workspace):
    """Look until there is nothing new; what a look itself has changed is looked at once more."""
    await filing.look("me")
    await filing.look("me")
    workspace.reads.clear()


async def test_a_folder_that_has_not_changed_is_not_read_again(filing, library, workspace):
    put(workspace, "double.py", DOUBLE)
    put(workspace, "broken.py", BROKEN)
    await settle(filing, workspace)

    [problem] = await filing.look("me")

    assert workspace.reads == []
    assert problem.path == "skills/broken.py"
    assert "line 1" in problem.error
    assert (await library.get("double")).state == "proposed"


async def test_a_changed_file_of_the_same_size_is_noticed(filing, library, workspace):
    file = put(workspace, "double.py", DOUBLE)
    os.utime(file, ns=(1, 1))
    await settle(filing, workspace)

    changed = DOUBLE.replace("2 * number", "4 * number")
    assert len(changed) == len(DOUBLE)
    put(workspace, "double.py", changed)
    await filing.look("me")

    assert workspace.reads == ["skills/double.py"]
    assert (await library.version("double", 2)).source == changed


async def test_a_file_that_was_mended_is_no_problem_any_more(filing, workspace):
    file = put(workspace, "broken.py", BROKEN)
    os.utime(file, ns=(1, 1))
    await settle(filing, workspace)

    put(workspace, "broken.py", DOUBLE)

    assert await filing.look("me") == []


async def test_what_was_forgotten_is_proposed_again_while_its_file_lies_there(
    filing, library, room, workspace
):
    put(workspace, "double.py", DOUBLE)
    await settle(filing, workspace)

    await room.database.write(lambda tx: skills.remove(tx, "me", "double"))
    await filing.look("me")

    assert (await library.get("double")).state == "proposed"


async def test_each_owner_has_looks_of_their_own(filing, library, workspace):
    put(workspace, "double.py", DOUBLE)
    await settle(filing, workspace)

    await filing.look("you")

    assert (await library.of("you").get("double")).state == "proposed"
