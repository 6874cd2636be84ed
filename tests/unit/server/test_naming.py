"""Which model a name asks for."""

import pytest

from long_running_agents.config import load
from long_running_agents.domain.auth import Caller, TokenScope
from long_running_agents.errors import NotFound
from long_running_agents.server.openai.routes import listed, model_for

ADMIN = Caller(owner="me")
CHATS = Caller(owner="me", scopes=frozenset({TokenScope.CHAT}))


@pytest.fixture
def loaded(tmp_path):
    flags = {
        "agent.name": "Ada",
        "agent.model.model_id": "openai:gpt-5",
        "agent.model.fallback": ["ollama:qwen3"],
    }
    return load(home=tmp_path, environ={"OPENAI_API_KEY": "sk-x"}, flags=flags)


def test_the_agent_is_listed_before_its_models(loaded):
    assert listed(loaded) == ["Ada", "lra", "openai:gpt-5", "ollama:qwen3"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [("Ada", None), ("lra", None), ("openai:gpt-5", "openai:gpt-5"), ("ollama:qwen3",) * 2],
)
def test_anybody_may_ask_for_what_is_listed(loaded, asked, found):
    assert model_for(asked, loaded, CHATS) == found


@pytest.mark.parametrize("asked", ["openai:gpt-4", "http://127.0.0.1:1/v1#x", "ollama:other"])
def test_whoever_may_change_the_settings_may_ask_for_any(loaded, asked):
    assert model_for(asked, loaded, ADMIN) == asked
    with pytest.raises(NotFound):
        model_for(asked, loaded, CHATS)


@pytest.mark.parametrize("asked", ["gpt-4", "", "nobody:x", "google:gemini", "http://#x"])
def test_what_cannot_be_asked_is_not_there(loaded, asked):
    with pytest.raises(NotFound):
        model_for(asked, loaded, ADMIN)
