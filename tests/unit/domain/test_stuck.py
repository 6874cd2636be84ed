import json
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain.stuck import StuckFinding, StuckSignal, WorkTrace, stuck_signal
from long_running_agents.domain.tool import CallState, Effect, ToolCallRecord

EFFECTS = {
    "read_file": Effect.READ, "list_files": Effect.READ, "search_files": Effect.READ,
    "fetch_page": Effect.READ, "list_tasks": Effect.READ, "propose_change": Effect.READ,
    "create_task": Effect.IDEMPOTENT, "update_task_status": Effect.IDEMPOTENT,
}  # fmt: skip
WALL = "old_text is not in the file"


def called(tool, result="ok", state="done", **args):
    return ToolCallRecord(
        turn_id="turn",
        session_id="session",
        call_id="call",
        step=1,
        position=0,
        tool=tool,
        args=json.dumps(args),
        effect=EFFECTS.get(tool, Effect.ONCE),
        state=CallState(state),
        result=json.dumps(result),
    )


def shell(command, result="(no output)", code=0):
    told = f"{result}\n[exit code {code}]" if code else result
    return called("shell", told, "failed" if code else "done", command=command)


def read(path, result=None, **part):
    return called(
        "read_file", f"1\tcontent of {path}" if result is None else result, path=path, **part
    )


def edit(number=0):
    return called("edit_file", "Edited a.py.", path="a.py", old_text=f"x{number}", new_text="y")


def failed_edit(number):
    return called("edit_file", WALL, "failed", path="a.py", old_text=f"x{number}", new_text="y")


def signal(*calls, **trace):
    found = stuck_signal(WorkTrace(calls=calls, **trace))
    return None if found is None else found.signal.value


def cycled(number, others):
    """Two rounds over some files, and a bit more."""
    return [read(f"{each % others}.py") for each in range(number)]


@pytest.mark.parametrize(
    ("expected", "bound", "calls"),
    [
        ("repeated_call", 4, lambda n: [shell("ls", "a.py")] * n),
        ("repeated_call", 4, lambda n: [read("a.py")] * n),
        ("repeated_error", 3, lambda n: [shell("make", "no rule", code=2)] * n),
        ("repeated_error", 3, lambda n: [called("shell", "cut", "uncertain", command="x")] * n),
        ("repeated_error", 3, lambda n: [called("mail", f"No {i}.", "denied") for i in range(n)]),
        ("alternating", 6, lambda n: [[shell("ls"), shell("git status")][i % 2] for i in range(n)]),
        ("alternating", 6, lambda n: [[shell("make", "bad", 2), edit()][i % 2] for i in range(n)]),
        ("same_error", 4, lambda n: [failed_edit(i) for i in range(n)]),
        ("only_reads", 26, lambda n: cycled(n, 12)),
        ("idle_calls", 5, lambda n: [shell(f"sleep {i + 1}") for i in range(n)]),
    ],
)
def test_calls_are_flagged_at_their_bound_and_not_one_earlier(expected, bound, calls):
    assert [signal(*calls(number)) for number in range(bound)] == [None] * bound
    assert signal(*calls(bound)) == expected


@pytest.mark.parametrize(
    ("expected", "field", "bound"),
    [("no_calls", "silent_turns", 3), ("compacting", "compactions", 4), ("cut_off", "cut_off", 2)],
)
def test_answers_are_flagged_at_their_bound_and_not_one_earlier(expected, field, bound):
    assert signal(**{field: bound - 1}) is None
    assert signal(**{field: bound}) == expected


def test_a_finding_says_what_was_seen():
    assert stuck_signal(WorkTrace(calls=[shell("ls")] * 4)) == StuckFinding(
        StuckSignal.REPEATED_CALL,
        "shell was called 4 times with the same arguments and the same result",
    )


def test_every_signal_is_said_in_one_sentence_without_a_full_stop():
    traces = [
        WorkTrace(calls=[shell("ls")] * 4),
        WorkTrace(calls=[shell("make", code=2)] * 3),
        WorkTrace(calls=[shell("ls"), shell("pwd")] * 3),
        WorkTrace(silent_turns=3),
        WorkTrace(calls=[failed_edit(number) for number in range(4)]),
        WorkTrace(calls=cycled(26, 12)),
        WorkTrace(calls=[shell(f"sleep {number}") for number in range(5)]),
        WorkTrace(compactions=4),
        WorkTrace(cut_off=2),
    ]
    found = [stuck_signal(trace) for trace in traces]

    assert [each.signal for each in found] == list(StuckSignal)
    assert all(len(each.detail) > 20 and "." not in each.detail for each in found)


@pytest.mark.parametrize(
    ("expected", "again", "times"),
    [
        ("repeated_call", lambda _: shell("ls"), 4),
        ("repeated_error", lambda _: shell("make", "no rule", code=2), 3),
        ("same_error", failed_edit, 4),
        ("idle_calls", lambda number: shell(f"sleep {number}"), 5),
    ],
)
def test_reads_in_between_hide_no_loop_and_a_change_ends_it(expected, again, times):
    looped = [each for i in range(times) for each in (again(i), read(f"{i}"), read(f"{i}.py"))]
    changed = [each for i in range(20) for each in (again(i), edit(i))]

    assert signal(*looped[:-1]) == expected
    assert signal(*looped[: 3 * (times - 1)]) is None
    assert [signal(*changed[:end]) for end in range(len(changed))] == [None] * len(changed)


def test_another_result_ends_a_repetition():
    same, other = read("log", "building"), read("log", "built")

    assert signal(same, same, same, other) is None
    assert signal(same, same, same, other, same, same, same) is None
    assert signal(same, same, same, other, same, same, same, same) == "repeated_call"


def test_an_error_that_has_changed_is_not_repeated():
    calls = [shell("./ready", f"{number} of 99 parts", code=1) for number in range(99)]

    assert [signal(*calls[:end]) for end in range(99)] == [None] * 99
    assert signal(*calls, calls[-1], calls[-1]) == "repeated_error"


def test_a_success_ends_repeated_errors():
    bad, good = (
        read(
            "a.py",
            "gone",
        ).__class__,
        None,
    )
    bad = called("read_file", "gone", "failed", path="a.py")
    good = read("a.py")

    assert signal(bad, bad, good, bad, bad, good) is None


def test_a_call_that_fails_now_and_then_is_no_error_of_different_arguments():
    bad, good = called("read_file", "busy", "failed", path="a.py"), read("a.py")

    assert signal(*(e for i in range(8) for e in (bad, good, called("list_files", path=i)))) is None


def test_another_change_ends_a_run_of_the_same_error():
    calls = [each for i in range(9) for each in (failed_edit(i), shell(f"make part-{i}"))]

    assert [signal(*calls[:end]) for end in range(18)] == [None] * 18


def test_how_long_the_tests_took_is_no_other_result():
    def tested(seconds, failures=2):
        said = f"FAILED a.py\n{failures} failed, 3 passed in {seconds}s"
        return shell("pytest -q", said, code=1)

    assert signal(tested("0.12"), tested("0.31"), tested("1.04")) == "repeated_error"
    assert signal(tested("0.12"), tested("0.31"), tested("0.31", failures=1)) is None


def test_seconds_that_are_left_are_another_result():
    calls = [shell("./status", f"building, {90 - number}s left") for number in range(60)]

    assert [signal(*calls[:end]) for end in range(60)] == [None] * 60


@pytest.mark.parametrize("length", [3, 5, 7])
def test_a_longer_cycle_of_commands_is_a_repetition(length):
    calls = [shell(f"cat {number % length}", "text") for number in range(30)]

    assert signal(*calls[: 3 * length]) is None
    assert signal(*calls[: 4 * length]) == "repeated_call"


def test_a_change_that_is_made_over_again_does_not_hide_an_error():
    cycle = [shell("make", "no rule", code=2), shell("ls", "a.py"), shell("git status", "clean")]

    assert signal(*cycle * 3) is None
    assert signal(*cycle * 3, cycle[0]) == "repeated_error"


def test_calls_that_do_not_alternate_strictly_are_not_flagged():
    one, two, three = shell("ls"), shell("git status"), shell("git log")

    assert signal(one, two, one, two, one, three) is None
    assert signal(one, two, one, two, one, shell("git status", "changed")) is None
    assert signal(three, one, two, one, two, one, two) == "alternating"


def test_parallel_calls_of_one_step_count_each():
    assert signal(*[shell("ls")] * 2, *[shell("ls")] * 2, read("b.py")) == "repeated_call"


def test_the_same_error_is_not_stuck_when_the_tool_works_for_others():
    pages = [
        called(
            "fetch_page",
            "403 Forbidden" if i % 3 else "text",
            "failed" if i % 3 else "done",
            url=f"https://{i}.example",
        )
        for i in range(60)
    ]

    assert [signal(*pages[:end]) for end in range(60)] == [None] * 60


def test_searches_that_find_nothing_are_no_error():
    searches = [shell(f"grep -r name{number} .", code=1) for number in range(20)]
    bare = [called("shell", "[exit code 1]", "failed", command=f"grep {i} a") for i in range(20)]

    assert signal(*bare) is None
    assert signal(*searches) == "same_error"


def test_refusals_of_different_calls_are_not_the_same_error():
    assert signal(*(called("mail", "No.", "denied", to=f"{i}@x.example") for i in range(9))) is None


@pytest.mark.parametrize(
    "tool", ["create_task", "update_task_status", "manage_tasks", "propose_change"]
)
def test_a_task_change_ends_a_run_of_reads(tool):
    reads = cycled(26, 12)

    assert signal(*reads) == "only_reads"
    assert signal(*reads[:25], called(tool, title="next"), reads[25]) is None
    assert (
        signal(*reads[:25], called(tool, "no", "failed", title="next"), reads[25]) == "only_reads"
    )


def test_a_new_source_keeps_reads_healthy():
    halves = [read(f"{number // 2}.py") for number in range(60)]

    assert [signal(*halves[:end]) for end in range(60)] == [None] * 60


def test_the_parts_of_a_long_file_are_new_and_shifted_views_are_not():
    def part(first, lines):
        shown = "\n".join(f"{line}\ttext" for line in range(first, first + lines))
        return read("book.txt", shown, offset_line=first, limit=lines)

    pages = [part(200 * number, 200) for number in range(40)]
    shifted = [part(3 * number, 200) for number in range(26)]

    assert [signal(*pages[:end]) for end in range(40)] == [None] * 40
    assert signal(*shifted[:25]) is None
    assert signal(*shifted) == "only_reads"


def test_a_log_that_grows_by_a_line_is_new():
    lines = [f"{number}\ttext" for number in range(90)]
    calls = [read("build.log", "\n".join(lines[: 50 + number])) for number in range(40)]

    assert [signal(*calls[:end]) for end in range(40)] == [None] * 40


def test_arguments_that_are_no_object_are_a_source_of_their_own():
    calls = [
        ToolCallRecord(
            turn_id="t", session_id="s", call_id="c", step=1, position=0, tool="read_file",
            args=text, effect=Effect.READ, state=CallState.DONE, result=None,
        )
        for text in (f"{number % 9}{'}' * (number % 2)}" for number in range(26))
    ]  # fmt: skip

    assert signal(*calls) is None


@pytest.mark.parametrize(
    "idle",
    [
        "sleep {}", "sleep {} && echo done", "true # {}", ": {}", "# thinking {}", "echo wait {}",
        "cd src && pwd # {}", "date +%{}", "timeout 9 sleep {} 2>/dev/null",
    ],
)  # fmt: skip
def test_commands_that_do_nothing(idle):
    assert signal(*(shell(idle.format(i), str(i)) for i in range(4))) is None
    assert signal(*(shell(idle.format(i), str(i)) for i in range(5))) == "idle_calls"


@pytest.mark.parametrize(
    "idle",
    ["pass  # {}", "import time\ntime.sleep({})", "import time; time.sleep({}); print('ok')"],
)
def test_code_that_does_nothing(idle):
    calls = [called("execute_code", code=idle.format(number)) for number in range(5)]

    assert signal(*calls[:4]) is None
    assert signal(*calls) == "idle_calls"


@pytest.mark.parametrize(
    ("tool", "name", "busy"),
    [
        ("shell", "command", "echo {} > notes.md"),
        ("shell", "command", "echo $(make {})"),
        ("shell", "command", "sleep {} && make"),
        ("shell", "command", "echo {} | tee a"),
        ("shell", "command", "echo 'open {}"),
        ("execute_code", "code", "print(total({}))"),
        ("execute_code", "code", "time.sleep({}); run()"),
        ("note", "text", "sleep {}"),
    ],
)
def test_calls_that_do_something_are_not_idle(tool, name, busy):
    assert signal(*(called(tool, **{name: busy.format(i)}) for i in range(20))) is None


def test_the_clock_is_idle_though_it_never_says_the_same():
    assert signal(*(shell("date", f"12:0{number}") for number in range(5))) == "idle_calls"


def test_waiting_is_not_idle_while_what_is_waited_for_goes_on():
    calls = [each for i in range(50) for each in (shell("sleep 30"), read("build.log", f"{i} %"))]

    assert [signal(*calls[:end]) for end in range(100)] == [None] * 100


def test_only_the_last_30_calls_are_looked_at():
    errors = [failed_edit(number) for number in range(3)]

    assert signal(*errors, *(read(f"{i}.py") for i in range(26)), failed_edit(9)) == "same_error"
    assert signal(*errors, *(read(f"{i}.py") for i in range(27)), failed_edit(9)) is None


def test_calls_that_have_not_ended_do_not_matter():
    open_calls = [
        called("shell", state=state, command="ls") for state in ("requested", "waiting", "started")
    ]

    assert signal(*[shell("ls", "ok")] * 3, *open_calls * 20) is None
    assert signal(*[shell("ls", "ok")] * 3, *open_calls * 20, shell("ls", "ok")) == "repeated_call"


def code_is_edited_until_its_tests_pass():
    for number in count():
        yield edit(number)
        yield shell(
            "pytest -q", f"FAILED test_{number % 7}.py\n{90 - number} failed in 0.2s", code=1
        )
        if number % 5 == 4:
            yield read("a.py", f"1\tversion {number}")
            yield shell("git commit -am wip", f"[main {number:07x}]")


def many_files_are_read_before_one_is_written():
    for number in count():
        yield read(f"src/{number}.py")
        if number % 60 == 59:
            yield called("write_file", f"Wrote {number}.", path="notes.md", content=f"{number}")


def a_build_is_polled():
    for number in count():
        yield shell("sleep 20")
        yield shell("tail -n 1 build.log", f"[{number}/400] compiling")
        yield read("build.log", f"{number} lines", offset_line=-1)


def the_linter_is_content_after_every_edit():
    for number in count():
        yield called("list_tasks", "1 open")
        yield edit(number)
        yield shell("ruff check .", "All checks passed!")
        yield shell("git add -A")


def data_are_worked_through():
    for number in count():
        yield shell(f"python clean.py part-{number}.csv", ["(no output)", "done"][number % 2])
        yield shell(f"wc -l part-{number}.csv", "1000", code=number % 4 == 3)
        yield called("search_files", "[]", pattern=f"NaN{number}", path="out")


@pytest.mark.parametrize(
    "story",
    [
        code_is_edited_until_its_tests_pass,
        many_files_are_read_before_one_is_written,
        a_build_is_polled,
        the_linter_is_content_after_every_edit,
        data_are_worked_through,
    ],
)
def test_a_healthy_run_is_never_flagged(story):
    calls = [each for each, _ in zip(story(), range(200), strict=False)]

    assert [signal(*calls[:end]) for end in range(201)] == [None] * 201


DIFFERENT = st.lists(
    st.tuples(
        st.sampled_from(
            ["shell", "edit_file", "read_file", "search_files", "create_task", "other"]
        ),
        st.sampled_from(["done", "failed", "denied", "uncertain"]),
        st.sampled_from(["", "ok", "[]", "2 passed in 0.1s", "a\nb\nc"]),
        st.text(max_size=5),
    ),
    max_size=60,
)


@given(DIFFERENT)
def test_calls_and_errors_that_do_not_repeat_are_never_flagged(drawn):
    calls = [
        called(
            tool,
            result if state == "done" else f"{result} {number}",
            state,
            command=f"make {text}{number}",
        )
        for number, (tool, state, result, text) in enumerate(drawn)
    ]

    assert signal(*calls) is None


@given(
    DIFFERENT,
    st.integers(0, 5),
    st.integers(0, 5),
    st.integers(0, 5),
    st.sampled_from([0, 1, 2, 9]),
)
def test_any_trace_has_an_answer(drawn, silent, compactions, cut_off, repeated):
    calls = [
        each
        for tool, state, result, text in drawn
        for each in [called(tool, result, state, command=text, code=text)] * repeated
    ]
    found = stuck_signal(
        WorkTrace(calls=calls, silent_turns=silent, compactions=compactions, cut_off=cut_off)
    )

    assert found is not None or (silent < 3 and compactions < 4 and cut_off < 2)
