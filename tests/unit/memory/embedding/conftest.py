import pytest

from long_running_agents.memory.embedding import bundled


@pytest.fixture(autouse=True)
def _read_anew(monkeypatch):
    monkeypatch.setattr(bundled, "_load", bundled._load.__wrapped__)
