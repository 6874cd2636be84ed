import importlib
import sys

import pytest
from tests.unit.models.fake_local import server as fake_server

from long_running_agents.config.settings import ModelSettings
from long_running_agents.errors import NotConfigured, NotFound, UsageError
from long_running_agents.models.embedded import Embedded
from long_running_agents.models.factory import ModelFactory

pytestmark = pytest.mark.anyio

LOCAL = "long_running_agents.models.local"


@pytest.fixture
def embedded(tmp_path, monkeypatch):
    for name in ("catalog", "model", "server"):
        module = importlib.import_module(f"tests.unit.models.fake_local.{name}")
        monkeypatch.setitem(sys.modules, f"{LOCAL}.{name}", module)
    return Embedded(tmp_path / "models")


async def test_the_real_package_is_found_behind_it(tmp_path):
    real = Embedded(tmp_path)
    own = tmp_path / "mine.gguf"
    own.write_bytes(b"")

    real.check(str(own))
    assert real.load(str(own)).model_name == "local:mine"
    with pytest.raises(NotFound, match="There are no weights at"):
        await real.pull("", progress=lambda *_: None, source=tmp_path)
    with pytest.raises(UsageError, match="there is no key"):
        await real.serve(str(own), "192.0.2.1", 1, "")


def test_the_one_to_prefer_comes_first(embedded):
    assert list(embedded.catalog()) == ["qwen2.5-coder-0.5b", "big"]
    assert embedded.weights("").name == "qwen2.5-coder-0.5b"


def test_an_unknown_one_is_refused_with_the_known_ones(embedded):
    with pytest.raises(NotFound, match=r"'huge'.*qwen2.5-coder-0.5b, big: 'lra models list'"):
        embedded.weights("huge")


async def test_what_was_pulled_can_be_asked(embedded):
    made = ModelFactory(ModelSettings(), {}, None, embedded)
    with pytest.raises(NotConfigured, match="'lra models pull big' fetches them"):
        made.choices("local:big")

    heard = []
    path = await embedded.pull("big", progress=lambda *step: heard.append(step), source="here")

    assert path.read_text() == "weights from here"
    assert heard[-1] == (1_500_000_000, 1_500_000_000)
    assert embedded.installed() == ["big"]
    [choice] = made.choices("local:big")
    assert choice.model.wrapped.path == path


async def test_only_what_is_here_is_served(embedded):
    fake_server.served.clear()
    with pytest.raises(NotConfigured, match="lra models pull big"):
        await embedded.serve("big", "127.0.0.1", 1, "")
    await embedded.pull("big", progress=lambda *_: None)
    await embedded.serve("big", "127.0.0.1", 1, "key")

    assert fake_server.served == [("big.gguf", "127.0.0.1", 1, "key")]


async def test_weights_of_ones_own_are_named_by_their_path(embedded, tmp_path):
    fake_server.served.clear()
    mine = tmp_path / "mine"
    model = ModelFactory(ModelSettings(), {}, None, embedded).choices(f"local:{mine}")[0].model
    await embedded.serve(str(mine), "127.0.0.1", 1, "", kind="transformers")

    assert model.wrapped.path == mine.with_name("mine.gguf")
    assert fake_server.served == [("mine by transformers", "127.0.0.1", 1, None)]
    embedded.check(str(mine))
    with pytest.raises(NotConfigured, match="lra models pull big"):
        embedded.check("big")
