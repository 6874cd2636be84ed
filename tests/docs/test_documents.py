import ast
import os
import re
import subprocess
import sys
from importlib import import_module

import pytest
from tests.docs.markdown import ROOT, anchors, blocks, documents, links, prose
from tests.scripted_process import scripted_process

from long_running_agents.testing import Rule, Script, say
from long_running_agents.tools.catalog import families

DOCUMENTS = documents()
BLOCKS = [block for path in DOCUMENTS for block in blocks(path)]
PYTHON = [block for block in BLOCKS if block.language == "python"]
# Machine paths, and names of places that only we have.
FORBIDDEN = re.compile(r"(?<![\w.])/((root|work|home|tmp|Users|private|var)/|(root|work)\b(?!-))")


def names(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", DOCUMENTS, ids=names)
def test_every_relative_link_leads_somewhere(path):
    for link in links(path):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        found = (path.parent / target).resolve() if target else path
        assert found.exists(), f"{names(path)} links to {link}"
        if anchor:
            assert anchor in anchors(found), f"{names(path)} links to {link}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=names)
def test_no_document_names_a_place_on_our_machines(path):
    assert not FORBIDDEN.search(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_every_python_block_compiles(block):
    compile(block.code, str(block), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.fixture
def environ(tmp_path):
    """An environment in which `open_app()` finds a temporary home and a scripted model."""
    script = Script((Rule(".", (say("I can talk and keep lists."),)),))
    with scripted_process(script) as url:
        own = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        yield {
            **own,
            "LRA_HOME": str(tmp_path / "lra"),
            "AGENT_MODEL_URL": url,
            "AGENT_MODEL": "scripted",
        }


@pytest.mark.parametrize("block", [block for block in PYTHON if block.mark == "run"], ids=str)
def test_the_examples_do_what_they_say(block, environ, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.code],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if block.output is not None:
        assert done.stdout == block.output


@pytest.mark.parametrize("block", [block for block in PYTHON if block.mark == "pytest"], ids=str)
def test_the_tests_we_show_pass(block, tmp_path):
    (tmp_path / "test_shown.py").write_text(block.code)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shown.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_there_are_examples_that_run():
    assert {block.path.name for block in PYTHON if block.mark} >= {
        "README.md",
        *(path.name for path in (ROOT / "docs/how-to").glob("*.md")),
    }


def test_the_readme_stays_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def everything():
    return "\n".join(prose(path) for path in DOCUMENTS)


def test_every_tool_has_its_line():
    text = everything()
    for toolset in families(network=False):
        for name in getattr(toolset, "tools", {}):
            assert f"`{name}`" in text


def command_paths():
    click = pytest.importorskip("click")
    try:
        main = import_module("long_running_agents.cli.main")
    except ModuleNotFoundError:
        pytest.skip("there is no command line yet")
    root = next(found for found in vars(main).values() if isinstance(found, click.Group))

    def paths(context):
        yield context.command_path
        for name in getattr(context.command, "list_commands", lambda _: ())(context):
            child = context.command.get_command(context, name)
            if not child.hidden:
                yield from paths(click.Context(child, info_name=name, parent=context))

    return list(paths(click.Context(root, info_name="lra")))


def test_every_command_has_its_line():
    text = everything()
    assert [path for path in command_paths() if f"`{path}`" not in text] == []


def test_every_decision_is_in_the_list():
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    for path in (ROOT / "docs/adr").glob("*.md"):
        assert f"(adr/{path.name})" in index


def test_every_page_of_the_window_has_its_line():
    pages = (ROOT / "ui/src/pages/index.ts").read_text(encoding="utf-8")
    titles = re.findall(r'path: "[^"]+", title: "([^"]+)"', pages)
    text = prose(ROOT / "docs/how-to/use-the-window.md")
    assert titles
    assert [title for title in titles if title not in text] == []
