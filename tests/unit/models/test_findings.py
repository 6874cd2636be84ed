import asyncio
import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from long_running_agents.domain.model_card import MissingCapability, ModelCard
from long_running_agents.domain.redaction import Redactor
from long_running_agents.errors import StorageFailed
from long_running_agents.models.factory import BELIEVED, Findings
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 5, 12, tzinfo=UTC)
URL = "http://127.0.0.1:8080/v1"
LACK = MissingCapability(endpoint=URL, model="m", what="system_role", learned_at=NOW)
CARD = ModelCard(
    endpoint=URL,
    model="m",
    native_tools=False,
    text_tools=True,
    streaming=True,
    streamed_calls=False,
    usage=True,
    context_window=4096,
    cuts_silently=True,
    checked_at=NOW,
)
MOMENT = timedelta(seconds=1)


class Notes:
    """Keeps what it is told, or cannot."""

    def __init__(self, failure=None):
        self.kept = []
        self.may = asyncio.Event()
        self._failure = failure

    async def keep(self, lack):
        await self.may.wait()
        if self._failure:
            raise self._failure
        self.kept.append(lack)


def findings(*, cards=(), lacks=(), keep=None, redact=None):
    return Findings(cards, lacks, keep=keep, clock=FrozenClock(NOW), redact=redact or Redactor())


def test_what_was_examined_and_what_was_taught_go_together():
    known = findings(cards=[CARD], lacks=[LACK, replace(LACK, model="other", what="tool_choice")])

    assert known.ability(URL, "m").lacks == {"native_tools", "system_role"}
    assert known.ability(URL, "other").lacks == {"tool_choice"}
    assert known.ability("http://127.0.0.1:9/v1", "m").lacks == set()


def test_what_is_old_is_tried_again_but_a_window_is_kept():
    old = replace(CARD, checked_at=NOW - BELIEVED - MOMENT)
    fading = replace(LACK, learned_at=NOW - BELIEVED - MOMENT)
    still = replace(LACK, learned_at=NOW - BELIEVED, what="tool_choice")
    known = findings(cards=[old], lacks=[fading, still])

    assert known.ability(URL, "m").lacks == {"tool_choice"}
    assert known.window(URL, "m") == 4096


def test_an_address_with_a_secret_is_found_as_it_is_stored():
    redact = Redactor(["hunter22"])
    stored = replace(CARD, endpoint=redact("http://me:hunter22@127.0.0.1/v1"))
    known = findings(cards=[stored], redact=redact)

    assert "hunter22" not in stored.endpoint
    assert known.window("http://me:hunter22@127.0.0.1/v1", "m") == 4096


async def test_what_a_model_teaches_is_written_beside_the_work():
    notes = Notes()
    known = findings(keep=notes.keep)
    known.learned(URL, "m")(frozenset({"system_role"}))
    assert notes.kept == []
    notes.may.set()
    await known.close()

    assert notes.kept == [LACK]


async def test_a_note_that_cannot_be_written_troubles_nobody(caplog):
    notes = Notes(StorageFailed("No room left."))
    notes.may.set()
    known = findings(keep=notes.keep)
    with caplog.at_level(logging.WARNING):
        known.learned(URL, "m")(frozenset({"system_role"}))
        await known.close()

    assert "m lacks system_role is not kept: No room left." in caplog.text
