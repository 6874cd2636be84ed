"""A day of ordinary work: a hundred calls, and hardly a question."""

import pytest
from tests.integration.stories import SESSION, ended, told
from tests.integration.web import FAKED, Hands

from long_running_agents.domain.events import ApprovalRequested
from long_running_agents.store import decisions
from long_running_agents.testing import ScriptedModel, call, make_app, say

pytestmark = pytest.mark.anyio

DOCS = "https://docs.example/httpx/"
PAGES = {DOCS: "[Timeouts](timeouts/) [Limits](limits/) and https://pypi.example/project/httpx/."}

SHELL = [
    "ls -la",
    "git status --short",
    "git diff HEAD~1 -- src | head -80",
    "git log --oneline -20",
    "python -m pytest -q tests/unit 2>&1 | tail -20",
    "ruff check . && ruff format --check .",
    "rm -rf build dist src/*.egg-info",
    "mkdir -p src/app/api && touch src/app/api/__init__.py",
    "find . -name '*.pyc' -delete",
    "grep -rn 'def main' src | sort | uniq -c",
    "cat pyproject.toml | grep -n version",
    'for f in src/*.py; do wc -l "$f"; done',
    "git checkout -b feature && git add -A && git commit -m 'Add an API'",
    "if [ -f requirements.txt ]; then cat requirements.txt; fi",
    "python - <<'EOF'\nimport json\nprint(json.dumps({'rm -rf /': 1}))\nEOF",
    "sed -i 's/foo/bar/g' src/app/main.py",
    "PYTHONPATH=src python -c 'import app; print(app.__version__)'",
    "curl -s localhost:8000/health | python -m json.tool",
    "tar czf /tmp/backup.tgz src && rm -rf /tmp/backup.tgz",
    "chmod +x scripts/run.sh && ./scripts/run.sh --help",
    "git stash && git pull --rebase && git stash pop",
    "kill %1 2>/dev/null || true",
    "cp .env.example config.sample && diff .env.example config.sample",
    "awk -F, '{print $2}' data.csv | sort -n | tail -1",
    "export X=1; env | grep X",
]


def day():
    """A hundred calls of a coding session, questions about them not in mind."""
    yield from [call("list_files", path=path) for path in (".", "src", "tests", "docs")]
    yield from [call("read_file", path=f"src/app/{name}.py") for name in "abcdefghij"]
    yield call("read_file", path="AGENTS.md")
    yield call("web_search", query="httpx timeout")
    yield call("web_fetch", url=DOCS)
    yield call("web_fetch", url=f"{DOCS}timeouts/")
    yield call("web_fetch", url="https://pypi.example/project/httpx/")
    yield call("install_packages", packages=["httpx"])
    yield from [call("search_files", pattern=text) for text in ("TODO", "httpx", "timeout", "main")]
    yield from [call("shell", command=command) for command in SHELL]
    yield from [call("write_file", path=f"src/app/api/{n}.py", content="x = 1") for n in range(10)]
    yield from [call("edit_file", path=f"src/app/{n}.py", old="a", new="b") for n in "abcdefghij"]
    yield from [call("execute_code", code=f"print({n})") for n in range(8)]
    yield from [call("create_task", title=f"Step {n}") for n in range(5)]
    yield call("write_memory", content="The project uses httpx for its client")
    yield from [call("shell", command="python -m pytest -q") for _ in range(10)]
    yield call("web_search", query="httpx retry transport")
    yield from [call("read_file", path=f"tests/test_{name}.py") for name in "abcde"]
    yield call("shell", command="git push origin feature")


async def test_a_hundred_calls_of_honest_work_ask_at_most_three_times(tmp_path):
    work = list(day())
    assert len(work) == 100
    hands = Hands(PAGES)
    async with make_app(
        tmp_path,
        model=ScriptedModel([*work, say("Done.")]),
        toolsets=[hands.toolset()],
        **FAKED,
        agent__max_loop_iterations=200,
    ) as app:
        turn = await ended(app, "Give the client a timeout.")
        while not turn.status.ended:
            for question in await app.turns.open_questions(SESSION):
                await app.turns.answer(question.id, allowed=True)
            turn = await app.turns.settled(turn.id)

        assert turn.answer == "Done."
        asked = await told(app, ApprovalRequested)
        assert [each.tool for each in asked] == ["install_packages", "web_search"]
        log = await app.database.read(lambda tx: decisions.newest(tx, "me", limit=500))
        # One line for each call, one more for each answer.
        assert len(log) == len(work) + len(asked)
