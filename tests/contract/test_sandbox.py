"""What every sandbox promises, whatever its walls are made of."""

import asyncio
import json

import pytest
from tests.contract.sandboxes import BACKENDS, opened

from long_running_agents.errors import LraError, NotFound, PathRefused
from long_running_agents.sandbox.base import MEGABYTE, FailureName, SandboxLimits, SandboxSpec

pytestmark = pytest.mark.anyio

SMALL = SandboxLimits(
    timeout=100,
    memory=256 * MEGABYTE,
    processes=32,
    file_size=16 * MEGABYTE,
    workspace_bytes=32 * MEGABYTE,
    workspace_files=500,
    output_kept=1000,
    output_killed=MEGABYTE,
)
LEAD = 2.5
"""Seconds after its own time by which a call has answered."""
PNG = b"\x89PNG\r\n\x1a\n"
HARD_ENDS = {
    "hang": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "segmentation fault": "import ctypes; ctypes.string_at(0)",
    "exit": "import os; os._exit(0)",
    "kill": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "out of memory": (
        "import os\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        keep = bytearray(100_000_000)\n"
        "        for at in range(0, len(keep), 4096): keep[at] = 1\n"
        "        os.read(os.pipe()[0], 1)\n"
        "keep = [bytearray(1_000_000) for _ in range(180)]\n"
        "os.wait()\n"
        "os._exit(1)"
    ),
}


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@pytest.fixture
async def sandbox(backend):
    async with opened(backend, SandboxSpec(limits=SMALL)) as sandbox:
        yield sandbox


def shown(result):
    return [item["text/plain"] for item in result.display if "text/plain" in item]


async def test_names_stay_from_cell_to_cell(sandbox):
    first = await sandbox.execute("import math\nx = 20\ndef double(n): return 2 * n")
    second = await sandbox.execute("x += 1\nprint('twice', x)\ndouble(x)")

    assert first.success
    assert first.display == ()
    assert second.stdout == "twice 21\n"
    assert shown(second) == ["42"]
    assert shown(await sandbox.execute("math.floor(_ / 4)")) == ["10"]


async def test_an_exception_is_an_outcome_and_keeps_what_was_done_before_it(sandbox):
    failed = await sandbox.execute("y = 1\n\n1 / 0")

    assert not failed.success
    assert failed.error.name == "ZeroDivisionError"
    assert "line 3" in failed.error.traceback
    assert "inside/" not in failed.error.traceback
    assert not failed.rolled_back
    assert shown(await sandbox.execute("y")) == ["1"]


async def test_the_annotations_of_a_cell_are_values_as_in_any_other_program(sandbox):
    source = "def f(n: int) -> list[int]: return str(f.__annotations__['n'])"
    cell = await sandbox.execute(f"{source}\nf(1)")

    assert shown(cell) == [repr("<class 'int'>")]


async def test_the_annotations_of_a_called_function_need_not_mean_anything(sandbox):
    called = await sandbox.call("def f(n: Many) -> List[str]: return n + 1", "f", {"n": 1})

    assert called.value == 2


async def test_code_that_cannot_be_read_says_where(sandbox):
    failed = await sandbox.execute("x = = 1")

    assert failed.error.name == "SyntaxError"


@pytest.mark.parametrize("end", HARD_ENDS)
async def test_a_hard_end_undoes_the_cell_and_nothing_else(sandbox, end):
    assert (await sandbox.execute("x = 1; big = list(range(1000))")).success

    failed = await sandbox.execute(f"x = 2\n{HARD_ENDS[end]}", 1 if end == "hang" else 20)

    assert not failed.success
    assert failed.error.name in (FailureName.TIMEOUT, FailureName.KILLED, FailureName.MEMORY)
    assert failed.rolled_back
    assert failed.alive
    assert shown(await sandbox.execute("x, len(big)")) == ["(1, 1000)"]


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time\nwhile True:\n  try: time.sleep(1)\n  except BaseException: pass",
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\nsignal.pause()",
    ],
    ids=["busy", "swallows", "blocks"],
)
async def test_a_cell_that_does_not_end_is_ended_in_time(sandbox, code):
    await sandbox.execute("kept = 1")
    loop = asyncio.get_running_loop()
    begun = loop.time()
    failed = await sandbox.execute("kept = 2\nprint('before')\n" + code, 1)

    assert loop.time() - begun < 1 + LEAD
    assert failed.error.name == FailureName.TIMEOUT
    assert failed.rolled_back
    assert failed.stdout == "before\n"
    assert shown(await sandbox.execute("kept")) == ["1"]


async def test_a_cell_that_keeps_its_streams_is_over_when_it_ends(sandbox):
    kept = await sandbox.execute("import os\nout, err = os.dup(1), os.dup(2)\nprint('said')", 5)

    assert kept.success
    assert kept.stdout == "said\n"
    assert (await sandbox.execute("print('and on')")).stdout == "and on\n"


async def test_a_cell_can_leave_and_ask_for_help(sandbox):
    left = await sandbox.execute("x = 1\nexit(3)")

    assert left.error.name == "SystemExit"
    assert "number of items" in (await sandbox.execute("help(len)")).stdout
    assert shown(await sandbox.execute("x")) == ["1"]


async def test_rich_results_come_in_all_their_forms(sandbox):
    result = await sandbox.execute(
        "class Plot:\n"
        "    def __repr__(self): return 'a plot'\n"
        f"    def _repr_png_(self): return {PNG!r}\n"
        "    def _repr_svg_(self): return '<svg/>'\n"
        "    def _repr_html_(self): return '<b>plot</b>'\n"
        "display(Plot())\n"
        "'last'"
    )
    [plot, last] = result.display

    assert plot["text/plain"] == "a plot"
    assert plot["image/png"] == "iVBORw0KGgo="
    assert plot["image/svg+xml"] == "<svg/>"
    assert plot["text/html"] == "<b>plot</b>"
    assert last == {"text/plain": "'last'"}


async def test_a_cell_may_await(sandbox):
    result = await sandbox.execute(
        "import asyncio\nawait asyncio.sleep(0)\nawait asyncio.sleep(0, 7)"
    )

    assert shown(result) == ["7"]


async def test_a_function_is_called_with_json_and_answers_json(sandbox):
    source = "async def add(a, b=[1]): return {'sum': [a, *b], 'none': None}"
    result = await sandbox.call(source, "add", {"a": 'x"); import os; ("'})

    assert result.success
    assert result.value == {"sum": ['x"); import os; ("', 1], "none": None}


async def test_a_called_function_shares_nothing_with_the_cells_or_the_next_call(sandbox):
    await sandbox.execute("secret = 1")
    source = "import json\nseen = 'secret' in globals()\njson.mark = 1\ndef f(): return seen"

    assert (await sandbox.call(source, "f", {})).value is False
    again = "import json\ndef f(): return hasattr(json, 'mark')"
    assert (await sandbox.call(again, "f", {})).value is False


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def f(): raise KeyError('no')", "KeyError"),
        ("def g(): pass", "NameError"),
        ("def f(x): pass", "TypeError"),
        ("def f(): return float('nan')", "TypeError"),
        ("def f(): import os; os._exit(0)", FailureName.KILLED),
    ],
)
async def test_a_call_that_fails_says_why(sandbox, source, name):
    result = await sandbox.call(source, "f", {})

    assert not result.success
    assert result.error.name == name


async def test_a_command_has_output_and_an_exit_code(sandbox):
    result = await sandbox.shell("echo out; echo err >&2; pwd; exit 3")

    assert (result.stdout, result.stderr) == ("out\n/workspace\n", "err\n")
    assert result.exit_code == 3
    assert not result.success
    assert (await sandbox.shell("true")).success


async def test_a_command_is_over_when_its_shell_is(sandbox):
    result = await sandbox.shell("sleep 300 & yes > /dev/null & echo started", 10)

    assert result.stdout == "started\n"
    assert result.success
    left = await sandbox.shell("cat /proc/[0-9]*/comm")
    assert not {"sleep", "yes"} & set(left.stdout.split())


async def test_files_go_in_and_out(sandbox):
    await sandbox.put_file("data/in.json", b"[1, 2]")
    await sandbox.execute("import json\nn = json.load(open('data/in.json'))\nn.append(3)")
    await sandbox.execute("json.dump(n, open('data/out.json', 'w'))")

    assert json.loads(await sandbox.get_file("/workspace/data/out.json")) == [1, 2, 3]
    assert [e.path for e in await sandbox.list_files(depth=2)] == [
        "data",
        "data/in.json",
        "data/out.json",
    ]
    with pytest.raises(NotFound):
        await sandbox.get_file("none")
    with pytest.raises(PathRefused):
        await sandbox.put_file("../out", b"x")


async def test_a_link_that_code_has_planted_is_not_followed(sandbox):
    await sandbox.shell("ln -s /etc/passwd link; ln -s / root; mkfifo -m 666 pipe")

    for path in ("link", "root/etc/passwd", "pipe"):
        with pytest.raises(LraError):
            await sandbox.get_file(path)


async def test_output_is_drained_for_ever_and_kept_up_to_a_limit(sandbox):
    result = await sandbox.shell("head -c 100000 /dev/zero | tr '\\0' x")

    assert result.success
    assert result.truncated
    assert result.stdout == "x" * SMALL.output_kept


async def test_a_flood_is_ended(sandbox):
    result = await sandbox.execute("while True: print('flood' * 100)")

    assert result.error.name == FailureName.OUTPUT
    assert result.rolled_back


async def test_memory_is_bounded_over_all_processes(sandbox):
    result = await sandbox.call(
        "import os\n"
        "def f():\n"
        "    for _ in range(8):\n"
        "        if os.fork() == 0:\n"
        "            keep = bytearray(90_000_000)\n"
        "            for at in range(0, len(keep), 4096): keep[at] = 1\n"
        "            os.read(os.pipe()[0], 1)\n"
        "    os.wait()\n",
        "f",
        {},
        10,
    )

    assert result.error.name == FailureName.MEMORY
    assert (await sandbox.execute("1")).success


FILLINGS = {
    "bytes": "for i in $(seq 100); do head -c 8M /dev/zero > f$i; done; sleep 100",
    "files": "seq 2000 | xargs touch; sleep 100",
    "behind a mode": (
        "mkdir d; for i in $(seq 9); do head -c 8M /dev/zero > d/f$i; done; chmod 0 d; sleep 100"
    ),
    "without a name": (
        'for i in $(seq 20 60); do eval "exec $i>f"; rm f; eval "head -c 8M /dev/zero >&$i"; done;'
        " sleep 100"
    ),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("fill", FILLINGS)
async def test_the_workspace_is_bounded_however_it_is_filled(sandbox, fill):
    result = await sandbox.shell(FILLINGS[fill], 110)

    assert result.error is not None
    assert result.error.name == FailureName.DISK


@pytest.mark.timeout(300)
async def test_a_workspace_that_is_filled_while_the_watch_inside_is_held_up_is_called_full(sandbox):
    result = await sandbox.shell(f"kill -STOP $PPID; {FILLINGS['behind a mode']}", 110)

    assert result.error.name == FailureName.DISK


@pytest.mark.timeout(300)
async def test_a_full_workspace_can_be_tidied_up(sandbox):
    await sandbox.shell("for i in $(seq 100); do head -c 8M /dev/zero > f$i; done; sleep 100", 110)

    tidied = await sandbox.shell("sleep 1; rm f*; sleep 1; echo done", 110)

    assert tidied.stdout == "done\n"


async def test_processes_are_bounded_and_swept_away(sandbox):
    result = await sandbox.execute(
        "import os, time\n"
        "count = 0\n"
        "try:\n"
        "    while count < 500:\n"
        "        if os.fork() == 0: time.sleep(300)\n"
        "        count += 1\n"
        "except OSError: pass\n"
        "count"
    )

    assert int(shown(result)[0]) < SMALL.processes
    # The killed ones leave no zombies that would use up the limit.
    for _ in range(3):
        assert (await sandbox.shell("echo $(seq 5 | xargs -n 1 -P 5 echo)")).success


async def test_a_call_that_takes_all_its_memory_ends_by_itself(sandbox):
    source = (
        "def fill():\n"
        "    table = {}\n"
        "    for place in range(10**9): table[place] = {place: [7] * 10}\n"
    )
    # An interpreter without memory to handle an exception with may try again for ever, or not.
    for _ in range(8):
        filled = await sandbox.call(source, "fill", {}, 100, memory=48 << 20)
        assert filled.error.name == "MemoryError"


async def test_one_file_is_bounded(sandbox):
    result = await sandbox.execute("open('big', 'wb').write(b'x' * 20_000_000)")

    assert result.error.name == "OSError"


async def test_a_reset_forgets_names_and_keeps_files(sandbox):
    await sandbox.execute("x = 1; open('kept', 'w').write('y')")
    await sandbox.reset()

    assert (await sandbox.execute("x")).error.name == "NameError"
    assert await sandbox.get_file("kept") == b"y"


async def test_a_cancelled_call_is_stopped_and_the_state_is_kept(sandbox):
    await sandbox.execute("x = 1")
    call = asyncio.ensure_future(
        sandbox.execute("x = 2\nopen('begun', 'w').close()\nwhile True: pass")
    )
    while not await sandbox.list_files():
        pass
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert shown(await sandbox.execute("x")) == ["1"]


async def test_the_state_is_kept_when_the_fork_that_waits_for_a_cell_is_killed(sandbox):
    await sandbox.execute("x = 1")
    killed = await sandbox.call(
        "import glob, os\n"
        "def f():\n"
        "    parents = {}\n"
        "    for path in glob.glob('/proc/[0-9]*/stat'):\n"
        "        fields = open(path).read().rpartition(')')[2].split()\n"
        "        parents[int(path.split('/')[2])] = int(fields[1])\n"
        "    states = [p for p in parents if parents[p] == os.getppid() and p != os.getpid()]\n"
        "    waiting = [p for p in parents if parents[p] in states]\n"
        "    for p in waiting: os.kill(p, 9)\n"
        "    return len(waiting)\n",
        "f",
        {},
    )
    first = await sandbox.execute("x")

    assert killed.value == 1
    assert first.success or first.rolled_back
    assert shown(await sandbox.execute("x")) == ["1"]


async def test_calls_run_one_after_the_other(sandbox):
    results = await asyncio.gather(
        *(sandbox.execute(f"n = globals().get('n', 0) + 1\n{i}, n") for i in range(5))
    )

    assert [shown(result) for result in results] == [[f"({i}, {i + 1})"] for i in range(5)]


async def test_a_sandbox_in_which_all_are_killed_lives_on_or_says_so(sandbox, backend):
    failed = await sandbox.shell("kill -9 -1; sleep 1; exit 1")

    assert not failed.success
    assert failed.alive == sandbox.alive
    after = await sandbox.execute("1")
    if failed.alive:
        assert after.success
    else:
        assert failed.error.name == after.error.name == FailureName.DIED
    async with opened(backend) as other:
        assert (await other.execute("1")).success


async def test_a_kernel_that_is_stopped_is_given_up_in_time(sandbox):
    loop = asyncio.get_running_loop()
    begun = loop.time()
    failed = await sandbox.shell("kill -STOP $PPID; sleep 60", 1)

    assert loop.time() - begun < 1 + LEAD
    assert not failed.success
    # In a container the kernel is the first process, which cannot be stopped.
    assert failed.alive is (sandbox.backend == "docker")


async def test_destroying_twice_is_destroying_once(sandbox):
    await sandbox.destroy()
    await sandbox.destroy()

    assert not sandbox.alive
    assert (await sandbox.shell("echo")).error.name == FailureName.DIED


async def test_a_thread_that_a_cell_began_does_not_work_on_unwatched(sandbox):
    await sandbox.execute(
        "import threading, itertools, os\n"
        "def work():\n"
        "    for n in itertools.count(): open('mark', 'w').write(str(n))\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "while not os.path.exists('mark'): pass"
    )
    first, again = b"", await sandbox.get_file("mark")
    # The test ends when the marks do.
    while first != again:
        first = again
        await asyncio.sleep(0.1)
        again = await sandbox.get_file("mark")

    assert (await sandbox.execute("1")).success


async def test_every_result_says_what_stood_around_it(sandbox):
    result = await sandbox.execute("1")

    assert {"pid", "net", "mount", "seccomp"} <= set(result.isolation)
    assert result.isolation == sandbox.isolation


@pytest.mark.parametrize("transactional", [True, False])
async def test_without_transactions_cells_run_in_place(backend, transactional):
    spec = SandboxSpec(limits=SMALL, transactional=transactional)
    async with opened(backend, spec) as sandbox:
        await sandbox.execute("import os; first = os.getpid()")
        same = shown(await sandbox.execute("os.getpid() == first"))
        failed = await sandbox.execute("first = 0\nos._exit(1)")

        assert same == [str(not transactional)]
        assert failed.rolled_back is transactional
        assert (await sandbox.execute("first")).success is transactional
