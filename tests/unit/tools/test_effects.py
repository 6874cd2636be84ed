import pytest
from pydantic_ai.tools import ToolDefinition

from long_running_agents.domain.tool import Effect
from long_running_agents.tools.deps import effect, effect_of


@pytest.mark.parametrize("kind", Effect)
def test_a_tool_says_what_running_it_again_would_do(kind):
    assert effect_of(ToolDefinition(name="x", metadata=effect(kind))) is kind


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        ({}, Effect.IDEMPOTENT),
        ({"mode": "overwrite", "path": "a"}, Effect.IDEMPOTENT),
        ({"mode": "append"}, Effect.ONCE),
        ({"mode": None}, Effect.ONCE),
        (None, Effect.ONCE),
    ],
)
def test_a_tool_may_be_harmless_with_some_arguments_only(args, kind):
    said = effect(Effect.IDEMPOTENT, once_unless={"mode": "overwrite"})

    assert effect_of(ToolDefinition(name="x", metadata=said), args) is kind


@pytest.mark.parametrize(
    "tool", [None, ToolDefinition(name="x"), ToolDefinition(name="x", metadata={})]
)
def test_a_tool_that_says_nothing_is_never_repeated(tool):
    assert effect_of(tool) is Effect.ONCE
