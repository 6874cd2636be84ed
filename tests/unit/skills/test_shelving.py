import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from long_running_agents.domain.skill import SkillCreator, SkillFile, SkillKind, digest_of
from long_running_agents.errors import UsageError
from long_running_agents.skills import files as skills_files
from long_running_agents.skills.files import folder_stamp, found_files, guide_in, removed, written
from long_running_agents.workspace.workspace import Workspace

SOURCE = 'def double(n: int) -> int:\n    """Twice a number."""\n    return 2 * n\n'
GUIDE = "---\nname: notes\ndescription: Writes notes.\n---\nWrite them.\n"


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "workspace"
    (root / "skills").mkdir(parents=True)
    return Workspace(root)


def put(workspace, path, content):
    file = workspace.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def test_functions_and_guides_are_found(workspace):
    put(workspace, "skills/double.py", SOURCE)
    put(workspace, "memory/skills/twice.py", SOURCE)
    put(workspace, "skills/notes/SKILL.md", GUIDE)
    put(workspace, "skills/notes/scripts/a.py", "print(1)\n")

    double, guide, twice = found_files(workspace)

    assert (double.path, double.error, double.digest) == ("skills/double.py", "", digest_of(SOURCE))
    assert (double.draft.name, double.draft.function) == ("double", "")
    assert double.draft.brought.origin is SkillCreator.FILE
    assert (twice.path, twice.draft.name, twice.draft.function) == (
        "memory/skills/twice.py",
        "twice",
        "",
    )
    files = (SkillFile(path="scripts/a.py", content="print(1)\n"),)
    assert (guide.path, guide.draft.kind) == ("skills/notes/SKILL.md", SkillKind.GUIDE)
    assert (guide.draft.source, guide.draft.files) == (GUIDE, files)
    assert guide.digest == digest_of(GUIDE, files)


def test_a_workspace_without_skills_has_none(tmp_path):
    assert found_files(Workspace(tmp_path)) == []


def test_what_is_no_skill_is_left_alone(workspace):
    for path in (
        "skills/README.md",
        "skills/.hidden.py",
        "skills/__pycache__/double.py",
        "skills/__init__.py",
        "skills/notes.txt",
        "skills/folder/other.md",
        "skills/.git/SKILL.md",
        "memory/skills/notes/SKILL.md",
    ):
        put(workspace, path, GUIDE)

    assert found_files(workspace) == []


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("double.py", "", "empty"),
        ("double.py", b"\xff\xfe", "UTF-8"),
        ("double.py", "x = 1\x00", "UTF-8"),
        ("double.py", "#" * (257 << 10), "262144 bytes"),
        ("Double.py", SOURCE, "name"),
        ("a-b.py", SOURCE, "name"),
        ("Notes/SKILL.md", GUIDE, "cannot be called"),
        ("notes/SKILL.md", "#" * (65 << 10), "65536 bytes"),
        ("notes/skill.md", GUIDE, "Rename it to SKILL.md"),
    ],
)
def test_what_cannot_be_a_skill_is_told_beside_the_others(workspace, name, content, said):
    put(workspace, f"skills/{name}", content)
    put(workspace, "skills/zzz.py", SOURCE)

    bad, good = found_files(workspace)

    assert bad.path == f"skills/{name}"
    assert bad.draft is None
    assert said in bad.error
    assert good.draft is not None


def test_a_guide_takes_neither_pictures_nor_too_much(workspace):
    put(workspace, "skills/a/SKILL.md", GUIDE)
    put(workspace, "skills/a/logo.png", b"\x89PNG\xff")
    put(workspace, "skills/b/SKILL.md", GUIDE)
    put(workspace, "skills/b/large.txt", b"a" * ((1 << 20) + 1))
    put(workspace, "skills/c/SKILL.md", GUIDE)
    for number in range(101):
        put(workspace, f"skills/c/{number}.txt", b"a")

    errors = [each.error for each in found_files(workspace)]

    assert errors[0].startswith("logo.png: It is not UTF-8")
    assert errors[1].startswith("It has more than 100 files")
    assert errors[2].startswith("It has more than 100 files")


def test_links_pipes_and_second_names_are_not_followed(workspace, tmp_path):
    outside = tmp_path / "outside.py"
    outside.write_text(SOURCE)
    skills = workspace.root / "skills"
    (skills / "link.py").symlink_to(outside)
    os.mkfifo(skills / "pipe.py")
    (skills / "second.py").hardlink_to(outside)
    (skills / "guide").symlink_to(tmp_path)

    assert [(each.path, each.draft) for each in found_files(workspace)] == [
        ("skills/second.py", None)
    ]


def test_a_folder_of_skills_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "double.py").write_text(SOURCE)
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "skills").symlink_to(tmp_path / "elsewhere")
    workspace = Workspace(tmp_path / "root")

    assert found_files(workspace) == []
    assert not written(workspace, "other", SOURCE)
    assert [each.name for each in (tmp_path / "elsewhere").iterdir()] == ["double.py"]


def test_there_is_an_end_to_looking(workspace):
    for number in range(skills_files.MOST + 5):
        (workspace.root / "skills" / f"s{number}.py").write_text("")

    seen = found_files(workspace)

    assert len(seen) == skills_files.MOST + 1
    assert "more than 2000" in seen[-1].error


def test_what_is_no_python_is_for_the_review_to_tell(workspace):
    put(workspace, "skills/double.py", "def double(:\n")
    put(workspace, "skills/deep.py", "x = " + "-" * 9000 + "1")

    assert [each.error for each in found_files(workspace)] == ["", ""]


def test_any_change_among_the_skills_is_another_stamp(workspace):
    put(workspace, "skills/double.py", SOURCE)
    put(workspace, "skills/notes/SKILL.md", GUIDE)
    put(workspace, "skills/notes/scripts/a.py", "print(1)\n")
    for path in ("skills/double.py", "skills/notes/scripts/a.py"):
        os.utime(workspace.root / path, ns=(1, 1))
    seen = [folder_stamp(workspace)]
    assert folder_stamp(workspace) == seen[0]

    put(workspace, "skills/double.py", SOURCE.replace("2 *", "3 *"))
    seen.append(folder_stamp(workspace))
    put(workspace, "skills/notes/scripts/a.py", "print(2)\n")
    seen.append(folder_stamp(workspace))
    put(workspace, "memory/skills/twice.py", SOURCE)
    seen.append(folder_stamp(workspace))
    (workspace.root / "skills/double.py").unlink()
    seen.append(folder_stamp(workspace))

    assert len(set(seen)) == 5


def test_a_workspace_without_skills_has_a_stamp_and_one_with_too_many_has_none(workspace):
    assert folder_stamp(workspace) is not None
    for number in range(2 * skills_files.MOST + 1):
        (workspace.root / "skills" / f"s{number}.py").write_text("")
    assert folder_stamp(workspace) is None


def test_one_guide_is_found_without_the_others(workspace, tmp_path):
    put(workspace, "skills/notes/SKILL.md", GUIDE)
    put(workspace, "skills/large/SKILL.md", "#" * (65 << 10))
    put(workspace, "skills/plain/other.md", GUIDE)
    (workspace.root / "skills/link").symlink_to(tmp_path / "workspace/skills/notes")

    assert guide_in(workspace, "notes") == next(
        each for each in found_files(workspace) if each.path == "skills/notes/SKILL.md"
    )
    assert guide_in(workspace, "large").draft is None
    assert [guide_in(workspace, name) for name in ("plain", "link", "none")] == [None] * 3


def test_a_function_is_shown_and_found_again(tmp_path):
    workspace = Workspace(tmp_path)

    assert written(workspace, "double", SOURCE)
    assert written(workspace, "double", SOURCE)
    assert found_files(workspace)[0].digest == digest_of(SOURCE)


def test_only_what_may_be_replaced_is(workspace):
    newer = SOURCE.replace("2 *", "2.0 *")
    written(workspace, "double", SOURCE)

    assert not written(workspace, "double", newer)
    assert workspace.read("skills/double.py").decode() == SOURCE
    assert written(workspace, "double", newer, replacing=[digest_of(SOURCE)])
    assert workspace.read("skills/double.py").decode() == newer


def test_what_a_person_saved_with_a_mark_of_its_order_counts_as_the_same(workspace):
    put(workspace, "skills/double.py", b"\xef\xbb\xbf" + SOURCE.encode())

    assert found_files(workspace)[0].digest == digest_of(SOURCE)
    assert written(workspace, "double", SOURCE)


def test_nothing_is_written_through_a_link_or_over_a_folder(workspace, tmp_path):
    outside = tmp_path / "outside.py"
    outside.write_text("mine")
    (workspace.root / "skills/double.py").symlink_to(outside)
    (workspace.root / "skills/dangling.py").symlink_to(tmp_path / "nowhere")
    (workspace.root / "skills/second.py").hardlink_to(outside)
    (workspace.root / "skills/folder.py").mkdir()

    allowed = [digest_of("mine")]
    for name in ("double", "dangling", "second", "folder"):
        assert not written(workspace, name, SOURCE, replacing=allowed)
        assert not removed(workspace, name, replacing=allowed)
    assert outside.read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_only_what_we_showed_is_removed(workspace):
    written(workspace, "double", SOURCE)

    assert not removed(workspace, "double", replacing=[digest_of("other")])
    assert removed(workspace, "double", replacing=[digest_of(SOURCE)])
    assert removed(workspace, "double")
    assert found_files(workspace) == []


def test_a_name_is_not_a_path(workspace):
    with pytest.raises(UsageError):
        written(workspace, "../double", SOURCE)
    with pytest.raises(UsageError):
        removed(workspace, "a/b")
    with pytest.raises(UsageError):
        written(workspace, "double", "\ud800")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(), st.binary())
def test_no_content_makes_the_looking_raise(workspace, source, guide):
    put(workspace, "skills/one.py", source)
    put(workspace, "skills/two/SKILL.md", guide)

    for each in found_files(workspace):
        assert (each.draft is None) == bool(each.error)
