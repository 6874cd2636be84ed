import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from long_running_agents.errors import NotConfigured, UsageError
from long_running_agents.models.local.backends import LlamaEngine, TransformersEngine
from long_running_agents.models.local.catalog import QWEN_HALF
from long_running_agents.models.local.engine import LocalPrompt, PlainMessage
from long_running_agents.models.local.model import open_engine, open_model

PROMPT = LocalPrompt(messages=(PlainMessage("user", "hi"),))


def test_weights_that_were_not_pulled_are_named_with_their_size_and_licence(tmp_path):
    with pytest.raises(NotConfigured, match=r"491 MB, Apache-2\.0") as missing:
        open_engine(QWEN_HALF.name, tmp_path)

    assert missing.value.hint == f"lra models pull {QWEN_HALF.name}"


def test_a_file_of_ones_own_is_found_in_the_folder_or_by_its_path(tmp_path):
    own = tmp_path / "mine.gguf"
    own.write_bytes(b"")

    for name in ("mine", "mine.gguf", str(own)):
        model = open_model(name, tmp_path)
        assert model.model_name == "local:mine"
        assert not model.engine.loaded


@pytest.fixture
def folder(tmp_path):
    """A folder that looks like what save_pretrained writes."""
    made = tmp_path / "mine"
    made.mkdir()
    (made / "config.json").write_text('{"max_position_embeddings": 1024}', encoding="utf-8")
    return made


@pytest.fixture
def transformers_there(monkeypatch):
    """The extra, as far as one can tell without importing it."""
    for package in TransformersEngine.packages:
        module = ModuleType(package)
        module.__spec__ = ModuleSpec(package, None)
        monkeypatch.setitem(sys.modules, package, module)


def test_a_folder_is_for_transformers(folder, transformers_there):
    engine = open_engine(str(folder), folder.parent)

    assert isinstance(engine, TransformersEngine)
    assert (engine.name, engine.context, engine.loaded) == ("mine", 1024, False)
    assert isinstance(open_engine(str(folder), folder, kind="transformers"), TransformersEngine)
    with pytest.raises(UsageError, match="is a folder, which the engine 'llama' cannot run"):
        open_engine(str(folder), folder, kind="llama")


@pytest.mark.parametrize("package", TransformersEngine.packages)
def test_without_the_extra_a_folder_is_refused_with_the_command(
    folder, transformers_there, monkeypatch, package
):
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(NotConfigured, match=f"need {package}") as missing:
        open_engine(str(folder), folder.parent)
    assert missing.value.hint == "pip install 'long-running-agents[transformers]'"


def test_an_engine_that_does_not_read_a_file_is_refused(tmp_path):
    (tmp_path / "mine.gguf").write_bytes(b"")

    with pytest.raises(UsageError, match="is a file, which the engine 'transformers' cannot run"):
        open_engine("mine", tmp_path, kind="transformers")


def test_the_window_of_a_local_model_is_known_before_it_is_loaded(tmp_path):
    (tmp_path / "mine.gguf").write_bytes(b"")

    assert open_model("mine", tmp_path).context_window == 8192


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
    with pytest.raises(NotConfigured, match="need xllamacpp"):
        open_engine("mine", tmp_path)


@pytest.mark.anyio
async def test_weights_that_went_away_are_missed_when_they_are_needed(tmp_path):
    engine = LlamaEngine(tmp_path / "gone.gguf", idle_after=None)

    with pytest.raises(NotConfigured, match="gone"):
        await anext(engine.stream(PROMPT))
