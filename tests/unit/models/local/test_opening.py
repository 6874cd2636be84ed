import os
import sys

import pytest

from long_running_agents.errors import NotConfigured
from long_running_agents.models.local.catalog import DEFAULT
from long_running_agents.models.local.engine import Prompt, Said
from long_running_agents.models.local.llama import LlamaEngine
from long_running_agents.models.local.opening import open_engine, open_model

PROMPT = Prompt(messages=(Said("user", "hi"),))


def test_weights_that_were_not_pulled_are_named_with_their_size_and_licence(tmp_path):
    with pytest.raises(NotConfigured, match=r"491 MB, Apache-2\.0") as missing:
        open_engine(DEFAULT, tmp_path)

    assert missing.value.hint == f"lra models pull {DEFAULT}"


def test_a_file_of_ones_own_is_found_in_the_folder_or_by_its_path(tmp_path):
    own = tmp_path / "mine.gguf"
    own.write_bytes(b"")

    for name in ("mine", "mine.gguf", str(own)):
        model = open_model(name, tmp_path)
        assert model.model_name == "local:mine"
        assert not model.engine.loaded


def test_a_name_that_means_nothing_is_refused(tmp_path):
    with pytest.raises(NotConfigured, match="nonsense"):
        open_engine("nonsense", tmp_path)


def test_one_core_is_left_to_the_rest_of_the_machine(tmp_path):
    assert LlamaEngine(tmp_path / "x")._threads == max(1, os.cpu_count() - 1)
    assert LlamaEngine(tmp_path / "x", threads=5)._threads == 5


@pytest.mark.anyio
async def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    # None in sys.modules is how Python itself says that an import fails.
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    (tmp_path / "mine.gguf").write_bytes(b"")
    engine = LlamaEngine(tmp_path / "mine.gguf", idle_after=None)

    with pytest.raises(NotConfigured) as missing:
        await anext(engine.stream(PROMPT))
    assert missing.value.hint == "pip install 'long-running-agents[local]'"


@pytest.mark.anyio
async def test_weights_that_went_away_are_missed_when_they_are_needed(tmp_path):
    engine = LlamaEngine(tmp_path / "gone.gguf", idle_after=None)

    with pytest.raises(NotConfigured, match="gone"):
        await anext(engine.stream(PROMPT))
