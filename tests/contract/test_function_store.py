"""The function store of the documents, with real code in a real sandbox."""

import pytest

from long_running_agents import FunctionStore
from long_running_agents.errors import NotFound, SkillFailed, SkillRefused, UsageError
from long_running_agents.testing import ScriptedModel, make_app

pytestmark = pytest.mark.anyio

SEARCH = """async def search_docs(query: str) -> List[str]:
        # Implementation
        pages = ["install", "serve", "search the web"]
        results = [page for page in pages if query in page]
        return results
    """
COUNT = 'def count(text: str) -> int:\n    """Count letters."""\n    return len(text)\n'


@pytest.fixture
async def store(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([])) as app:
        yield FunctionStore(app)


async def test_the_documented_example_runs(store):
    await store.store_function(
        name="search_docs",
        code=SEARCH,
        description="Search documentation",
        input_schema={"type": "object", "properties": {"query": {"type": "string"}}},
        output_schema={"type": "array", "items": {"type": "string"}},
        is_async=True,
    )
    result = await store.execute_function("search_docs", {"query": "se"})
    assert result == ["serve", "search the web"]


async def test_every_documented_field_is_kept(store):
    stored = await store.store_function(
        name="count",
        code=COUNT,
        version="1.0",
        is_async=False,
        requires_context=False,
        memory_limit=256,
        timeout=7,
        safe_mode=True,
        allowed_imports=["json", "datetime", "math", "re", "collections", "itertools", "functools"],
    )
    found = await store.get_function("count")
    assert found == stored
    assert (found.version, found.memory_limit, found.timeout) == ("1.0", 256, 7)
    assert (found.is_async, found.requires_context, found.safe_mode) == (False, False, True)
    assert "functools" in found.allowed_imports
    assert found.input_schema["required"] == ["text"]
    assert found.enabled
    assert len(found.hash) == 64


async def test_the_same_again_is_the_same_version_and_a_change_the_next(store):
    await store.store_function(name="count", code=COUNT)
    again = await store.store_function(name="count", code=COUNT)
    other = await store.store_function(name="count", code=COUNT.replace("len(text)", "1"))
    assert (again.number, other.number) == (1, 2)
    assert await store.execute_function("count", {"text": "three"}) == 1
    assert (await store.roll_back("count")).number == 1
    assert await store.execute_function("count", {"text": "three"}) == 5
    assert [each.name for each in await store.list_functions()] == ["count"]


async def test_a_context_is_handed_over(store):
    code = (
        'def greet(ctx, name: str) -> str:\n    """Greet."""\n'
        '    return ctx.get("word", "") + name\n'
    )
    await store.store_function(name="greet", code=code, requires_context=True)
    assert (
        await store.execute_function("greet", {"name": "Ann"}, context={"word": "Hi "}) == "Hi Ann"
    )


async def test_what_is_not_allowed_is_refused_with_its_line(store):
    with pytest.raises(SkillRefused, match=r"line 1.*os"):
        await store.store_function(name="leak", code="import os\n" + COUNT.replace("count", "leak"))
    with pytest.raises(SkillRefused, match="async"):
        await store.store_function(name="count", code=COUNT, is_async=True)
    assert await store.list_functions() == []


async def test_limits_hold(store):
    hungry = (
        "def hungry(size: int) -> int:\n"
        '    """Take memory.\n\n    >>> hungry(1)\n    1\n    """\n'
        "    return len(bytearray(size))\n"
    )
    slow = (
        "import time\n\ndef slow(seconds: float) -> float:\n"
        '    """Wait.\n\n    >>> slow(0.0)\n    0.0\n    """\n'
        "    time.sleep(seconds)\n    return seconds\n"
    )
    await store.store_function(name="hungry", code=hungry, memory_limit=64)
    await store.store_function(name="slow", code=slow, timeout=0.5)
    with pytest.raises(SkillFailed, match="MemoryError"):
        await store.execute_function("hungry", {"size": 200_000_000})
    with pytest.raises(SkillFailed, match="longer than it was given"):
        await store.execute_function("slow", {"seconds": 30.0})
    assert (await store.get_function("slow")).failures == 1


async def test_wrong_arguments_and_unknown_names_are_told(store):
    await store.store_function(name="count", code=COUNT)
    with pytest.raises(UsageError, match="is not of type 'string'"):
        await store.execute_function("count", {"text": 5})
    with pytest.raises(NotFound, match="nothing"):
        await store.execute_function("nothing", {})
    await store.delete_function("count")
    with pytest.raises(NotFound):
        await store.get_function("count")
