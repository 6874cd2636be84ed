import gc
import os
import signal

import pytest
from hypothesis import settings
from pytest_socket import socket_allow_hosts
from tests.kept import keep
from tests.zygote import forking
from websockets.asyncio.client import connect

_FOREIGN = (
    "OPENAI_",
    "OPENROUTER_",
    "ANTHROPIC_",
    "GEMINI_",
    "GOOGLE_",
    "AGENT_",
    "BRAVE_",
    "EMBEDDING_",
    "LRA_",
    "OTEL_",
)
_FOREIGN_NAMES = {"DATABASE_URL", "SANDBOX_URL", "VECTOR_STORE_PATH"}

# Not in time: a busy machine is no failure. `make test-all` asks for "all".
settings.register_profile("gate", deadline=None, max_examples=30)
settings.register_profile("all", deadline=None, max_examples=300)
settings.load_profile("gate")
# The same for greetings: ten seconds are the library's, and a busy machine takes longer.
connect.__init__.__kwdefaults__["open_timeout"] = 300


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def _own_world(tmp_path, monkeypatch):
    """No test sees the settings, keys or home of whoever runs it."""
    for name in os.environ:
        if name.startswith(_FOREIGN) or name in _FOREIGN_NAMES:
            monkeypatch.delenv(name)
    monkeypatch.setenv("LRA_HOME", str(tmp_path / "home"))
    # Nor the model servers that happen to run on their machine.
    monkeypatch.setenv("LRA_AGENT__MODEL__PROBE", "[]")
    # Nor whom their machine trusts, which takes each client 24 ms to read.
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))


@pytest.fixture(autouse=True)
def _loopback_only():
    socket_allow_hosts(["127.0.0.1", "::1"], allow_unix_socket=True)


@pytest.fixture(scope="session", autouse=True)
def _no_real_models():
    """A model that is asked over HTTP by mistake fails; those on loopback say so with a fixture."""
    import pydantic_ai.models  # noqa: PLC0415 - costs a second that a lone collection need not pay

    pydantic_ai.models.ALLOW_MODEL_REQUESTS = False
    # What is loaded stays: a fifth of the time of many tests went into looking through it.
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture(scope="session", autouse=True)
def _quick_starts():
    """Our program starts by a fork of a process that has imported it."""
    keep()
    with forking():
        yield


@pytest.fixture
def model_requests():
    """Lets models speak HTTP to a server of the test's own."""
    from pydantic_ai.models import override_allow_model_requests  # noqa: PLC0415 - as above

    with override_allow_model_requests(allow_model_requests=True):
        yield


def pytest_configure():
    """Let programs that tests start hear Ctrl-C, also when the tests run in the background.

    A shell lets its background jobs ignore it, and whoever they start inherits that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
