"""Pure functions, without a machine to reach."""

import pytest

from long_running_agents.sandbox import monty
from long_running_agents.sandbox.spec import MEGABYTE, Limits

pytestmark = pytest.mark.anyio


@pytest.fixture
async def pure():
    async with monty.opened(Limits(timeout=1, memory=64 * MEGABYTE)) as pure:
        yield pure


async def test_a_pure_function_is_called_with_json_and_answers_json(pure):
    source = "def f(words, n=1):\n    print('counting')\n    return {w: n for w in words}"
    result = await pure.call(source, "f", {"words": ["a", 'b"); x("']})

    assert result.success
    assert result.value == {"a": 1, 'b"); x("': 1}
    assert result.stdout == "counting\n"
    assert "interpreter" in result.isolation


async def test_calls_share_nothing(pure):
    await pure.call("seen = 1\ndef f(): return seen", "f", {})

    assert (await pure.call("def f(): return seen", "f", {})).error.name == "NameError"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def f(): return 1 / 0", "ZeroDivisionError"),
        ("def f():\n    while True: pass", "TimeoutError"),
        ("def f(): return 'a' * 10**9", "MemoryError"),
        ("def f(): return open('/etc/passwd').read()", "PermissionError"),
        ("def g(): pass", "NameError"),
    ],
)
async def test_a_call_that_fails_says_why(pure, source, name):
    result = await pure.call(source, "f", {})

    assert not result.success
    assert result.error.name == name


@pytest.mark.parametrize(
    "source",
    [
        "import numpy\ndef f(): return 1",
        "def f():\n    yield 1",
        "class A(dict): pass\ndef f(): return 1",
        "def f(:",
    ],
)
async def test_what_it_cannot_do_is_left_to_a_sandbox(pure, source):
    assert await pure.call(source, "f", {}) is None


async def test_a_name_is_a_name(pure):
    assert await pure.call("def f(): return 1", "f(), g", {}) is None
