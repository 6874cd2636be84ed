"""Which words of a final answer claim that something was done, and what knows it."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain.claims import not_seen

CLAIMS = [
    ("I wrote report.md and all 12 tests pass.", ["report.md", "12 tests pass"]),
    ("I've created `src/app.py` with the main loop.", ["src/app.py"]),
    ("I have saved the summary to /workspace/out/summary.txt.", ["/workspace/out/summary.txt"]),
    ("We updated config.yaml and removed old.ini.", ["config.yaml", "old.ini"]),
    ("I also successfully wrote `notes.md`.", ["notes.md"]),
    ("The report was written to `results/report.pdf`.", ["results/report.pdf"]),
    ("The file has been saved as chart.png", ["chart.png"]),
    ("It has written `out.csv` to the folder.", ["out.csv"]),
    ("The script generated data/clean.csv.", ["data/clean.csv"]),
    ("✅ Created `setup.py`", ["setup.py"]),
    ("- ✅ `src/very/long/folder/main.py` created", ["src/very/long/folder/main.py"]),
    ("- [x] Updated `README.md`", ["README.md"]),
    ("1. **Created** `index.html`\n2. **Added** `style.css`", ["index.html", "style.css"]),
    ("Done! Saved to report.docx.", ["report.docx"]),
    ("Done: wrote `a.txt`", ["a.txt"]),
    ("I created these files:\n- a.py\n- b.py", ["a.py", "b.py"]),
    (
        "I have made the following changes:\n\n* `app.py`: reads `/etc/app.conf` now\n* `lib/x.py`",
        ["app.py", "lib/x.py"],
    ),
    ("## Files created\n\n- **Report:** `report.md`\n- `data/`", ["report.md", "data/"]),
    (
        "I created these files:\n\n| File | Purpose |\n| --- | --- |\n| `a.py` | reads `b.csv` |",
        ["a.py"],
    ),
    ("| `a.py` | ✅ Created |\n| `b.py` | pending |", ["a.py"]),
    ("I ran `pytest -q` and everything is fine.", ["pytest -q"]),
    ("I've run `make lint` for you.", ["make lint"]),
    ("The command `npm install` was run.", ["npm install"]),
    ("I installed it with `pip install requests`.", ["pip install requests"]),
    ("I ran the following commands:\n1. `git add .`\n2. `git commit`", ["git add .", "git commit"]),
    ("I executed `$ ls  -la /tmp`.", ["$ ls -la /tmp"]),
    ("I fetched https://example.org/page, as asked.", ["https://example.org/page"]),
    ("I opened [the page](https://example.org/a).", ["https://example.org/a"]),
    ("All tests pass.", ["All tests pass"]),
    ("The test suite passes now, and 0 warnings are left.", ["The test suite passes"]),
    ("All 7 unit tests in `tests/test_x.py` passed.", ["7 unit tests in `tests/test_x.py` passed"]),
    ("Result: 12 passed in 0.3 s", ["12 passed"]),
    ("12/12 tests passing", ["12/12 tests passing"]),
    ("I verified that all 3 checks pass.", ["3 checks pass"]),
    ("The command finished with exit code 0.", ["exit code 0"]),
    ("It exited with code 0.", ["exited with code 0"]),
    ("Exit code: 0", ["Exit code: 0"]),
    ("I could not write a.md, but I created b.md.", ["b.md"]),
    ("I fixed `a.py` — you can run it with `python a.py`.", ["a.py"]),
    ("I wrote `run.sh`, so you can use it at once.", ["run.sh"]),
    ("I updated `a.py` to use `b.py`.", ["a.py"]),
    ("I moved `a.md` to `docs/a.md`.", ["a.md", "docs/a.md"]),
    ('{"summary": "I created a.py"}', ["a.py"]),
    ("I deleted `.env` and changed the `Makefile`.", [".env", "Makefile"]),
    ("I've set up the project in ~/work/site.", ["~/work/site"]),
    ("**I updated** `a.py`!\n\nThen I removed `b.py`.", ["a.py", "b.py"]),
]

NO_CLAIMS = [
    "",
    "Hello there, friend.",
    "You can run `pip install requests`.",
    "To do this, run `python main.py` in the folder src/app.",
    "Run `pytest -q` to see whether all 12 tests pass.",
    "I will create report.md next.",
    "I'll write `notes.md` and run `make`.",
    "I would create `src/app.py` for that.",
    "I could not create report.md.",
    "I couldn't save x.txt.",
    "I did not write x.md.",
    "I haven't updated `config.yaml`.",
    "report.md was not created.",
    "I was unable to run `pytest`.",
    "I tried to write `a.md`.",
    "I failed to create `a.md`.",
    "Should I create `a.md`?",
    "Have I already created `a.md`?",
    "If you created `a.md`, delete it.",
    "Once you have saved `a.md`, run `make`.",
    "The file you created, `a.md`, is fine.",
    "The tests should pass.",
    "Make sure all tests pass.",
    "When the tests pass, merge it.",
    "Two years passed.",
    "An exit code of 0 means success.",
    "Git was created by Linus Torvalds, see https://git-scm.com.",
    "npm writes `package-lock.json`.",
    "`package-lock.json` is created by npm.",
    "Logs are stored in `/var/log/syslog`.",
    "The config is in `config.yaml`.",
    "I read `notes.txt` and found nothing.",
    "Here is the code:\n\n```sh\nI created a.py\n# wrote b.md\n12 passed\n```",
    "~~~\nI created a.py\n```\nI created b.py\n~~~\n",
    "> I created a.py",
    "I have written it down.",
    "I made a mistake with Node.js and/or TCP/IP in version 3.12.",
    "I started the server at http://localhost:8000/.",
    "I added the function `load_all()` and the class `Config`.",
    "Files to be created:\n- `a.py`\n- `b.py`",
    "Next steps:\n- [ ] Create `a.py`\n- Run `pytest`",
    "I created the plan. To use it:\n1. Open `a.py`\n2. Run `make`",
    "I've put it in path/to/file.py.",
    "I saved everything in `/workspace/`.",
    "- ❌ Created `a.py`",
    "I prefer tabs, e.g. in `a.py` created by hand.",
    "Saved searches can be opened with `Ctrl+K`.",
]


@pytest.mark.parametrize(("answer", "listed"), CLAIMS)
def test_a_claim_that_nothing_knows_is_listed(answer, listed):
    assert not_seen(answer, ["a call of something else"]) == listed


@pytest.mark.parametrize("answer", NO_CLAIMS)
def test_what_is_no_claim_is_never_listed(answer):
    assert not_seen(answer, []) == []


@pytest.mark.parametrize("answer", [*NO_CLAIMS, "Hi"])
def test_nothing_is_looked_up_for_an_answer_without_claims(answer):
    def never():
        raise AssertionError
        yield ""

    assert not_seen(answer, never()) == []


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        ("I wrote a/b.md.", "write_file\na/b.md\n# Title\nWrote 7 bytes to a/b.md."),
        ("I wrote a/b.md.", "cat ./a/b.md"),
        ("I wrote ./a/b.md.", "/workspace/a/b.md"),
        ("I wrote /workspace/a/b.md.", "a/b.md"),
        ("I wrote /home/me/work/a/b.md.", "cd a && touch b.md"),
        ("I wrote b.md.", "x/y/b.md"),
        ("I created `src/utils/`.", "mkdir -p src/utils"),
        ("I created `src/utils/`.", "src/utils/a.py"),
        ("I ran `pytest  -q tests`.", "shell\npytest -q   tests\n3 passed"),
        ("I ran `pytest -q`.", 'subprocess.run(["pytest", "-q"])'),
        ('I ran `git commit -m "a…"`.', "git commit -m 'all of it'"),
        ("I ran `list_files`.", "list_files\n."),
        ("I opened https://www.example.org/a/#top.", "http://example.org/a"),
        ("All 12 tests pass.", "============ 12 passed in 0.42s ============"),
        ("All 12 tests pass.", "Ran 12 tests in 0.001s\n\nOK"),
        ("All 12 tests pass.", "Tests:       12 passed, 12 total"),
        ("All 12 tests pass.", "Tests run: 12, Failures: 0"),
        ("All 12 tests pass.", "1..12\nok 12 - works"),
        ("12/12 tests pass.", "12 passing (30ms)"),
        ("All tests pass.", "✓ adds\n✓ subtracts"),
        ("It exited with code 0.", "CompletedProcess(args=['ls'], returncode=0)"),
        ("All tests pass.", "test result: ok. 3 passed; 0 failed"),
        ("All tests pass.", "[exit code 0]\nshell\n./run_tests.sh\n(no output)"),
        ("It exited with code 0.", "[exit code 0]\nshell\nls"),
        ("It exited with code 3.", "[exit code 3]"),
        ("It exited with code 0.", "exit_code\n0"),
    ],
)
def test_a_claim_is_known_in_other_forms(answer, known):
    assert not_seen(answer, ["something else", "\0"]) != [], answer
    assert not_seen(answer, ["something else", known]) == []


@pytest.mark.parametrize(
    ("answer", "unknown"),
    [
        ("I wrote report.md.", "myreport.md report.md.bak report.mdx old-report.md"),
        ("I wrote a/b.md.", "/workspace/c/b.md"),
        ("I ran `pytest`.", "pip install pytest-asyncio; cat pytest.ini"),
        ("12 tests pass.", "112 passed, 12.5 seconds"),
        ("All tests pass.", "def test_a():\n    pass"),
        ("It exited with code 0.", "[exit code 10]"),
    ],
)
def test_what_only_looks_like_it_knows_nothing(answer, unknown):
    assert not_seen(answer, [unknown]) != []


def test_at_most_ten_are_listed_each_once_and_clipped():
    names = [f"{number}{'x' * 150}.py" for number in range(30)]
    listed = not_seen(f"I wrote {', '.join([*names, *names])}.", [])
    assert len(listed) == 10
    assert {len(each) for each in listed} == {120}
    assert not_seen("I wrote a.py. I updated a.py.", []) == ["a.py"]


PIECES = [
    "I wrote ",
    "I ran ",
    "a.py",
    "`",
    "/",
    "..",
    "~",
    "/workspace/",
    "12",
    " tests pass",
    "\n",
]
PIECES += [
    "- ",
    "| ",
    ": ",
    "?",
    ". ",
    "```",
    "http://",
    "exit code ",
    "#",
    "(",
    "[",
    "\\",
    "\0",
    " ",
    "…",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30).map("".join))
def test_any_answer_can_be_looked_at(answer):
    listed = not_seen(answer, [answer, "x"])
    assert len(listed) <= 10


MILLION = 1_000_000
HOSTILE = {
    "letters": "I wrote " + "a" * MILLION,
    "spaces": " " * MILLION,
    "lines": "\n" * MILLION,
    "ticks": "I ran " + "`" * MILLION,
    "open tick": "I ran `" + "a " * MILLION,
    "slashes": "I wrote " + "a/" * MILLION,
    "fences": "```a\n```b\n" * (MILLION // 10),
    "fence": "```\n" + "~~~\n" * (MILLION // 4),
    "list": "I wrote:\n" + "- a/b `c d`: x\n" * (MILLION // 15),
    "questions": ("I wrote a.py? " * 140 + "\n") * 500,
    "words": "I wrote " + ("ran " * 400 + "`a` " * 100 + "\n") * 500,
    "counts": ("all the the the 1 tests in a now have " * 50 + "\n") * 500,
    "claims": "".join(f"I ran `a{n} b` with f{n}.py, exit code {n % 9}.\n" for n in range(20_000)),
}


@pytest.mark.parametrize("answer", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_answer_is_looked_at_in_a_moment(answer):
    began = process_time()
    rows = (
        "a/" * 25_000,
        "exit" * 12_000,
        "pass" * 12_000,
        "12 " * 16_000,
        "✓" * 50_000,
        " " * 50_000,
    )
    not_seen(answer, rows)
    assert process_time() - began < 5
