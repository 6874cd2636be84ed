"""The log file of a home, without secrets."""

import json
import logging
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Literal, cast

from typing_extensions import override

from long_running_agents.domain.redaction import Redactor
from long_running_agents.errors import file_hint


@dataclass(frozen=True, slots=True)
class Cause:
    """Why something is done; empty where nobody knows."""

    request_id: str = ""
    turn_id: str = ""
    session_id: str = ""


_NOBODY = Cause()
_cause: ContextVar[Cause] = ContextVar("cause", default=_NOBODY)


def current() -> Cause:
    """Why the code at hand runs."""
    return _cause.get()


def request(request_id: str) -> AbstractContextManager[None]:
    """Work for a request while inside; whatever is begun there keeps its id."""
    return _within(Cause(request_id=request_id))


def turn(turn_id: str, session_id: str = "") -> AbstractContextManager[None]:
    """Work for a turn while inside; the request that began it stays known."""
    return _within(replace(current(), turn_id=turn_id, session_id=session_id))


@contextmanager
def _within(cause: Cause) -> Generator[None]:
    token = _cause.set(cause)
    try:
        yield
    finally:
        _cause.reset(token)


Format = Literal["text", "json"]
Level = Literal["DEBUG", "INFO", "WARNING", "ERROR"]

OURS = "long_running_agents"
"""The logger above all of ours."""
FIELDS = "fields"
"""Under this name a record may carry more than a sentence: numbers and words, by name."""

_SIZE = 5_000_000
_KEPT = 3
_FOREIGN = ("opentelemetry", "uvicorn.error")
"""Loggers of libraries whose complaints belong into the same file, and not on the screen."""
_SHORT = {"request_id": "request", "turn_id": "turn", "session_id": "session"}


class _TextFormatter(logging.Formatter):
    def __init__(self, redact: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s%(cause)s: %(message)s")
        self._redact = redact

    @override
    def format(self, record: logging.LogRecord) -> str:
        record.cause = "".join(f" {_SHORT[name]}={text}" for name, text in _cause_logs().items())
        # The finished text, so that tracebacks and arguments are covered too.
        return self._redact(super().format(record))


class _JsonFormatter(_TextFormatter):
    """One JSON object a line."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_cause_logs(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return self._redact.json(json.dumps(told, ensure_ascii=False, default=str))


class _LogFile(RotatingFileHandler):
    """Goes without what a full disk does not take: nobody's terminal is told instead."""

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        if not file_hint(sys.exc_info()[1] or ValueError()):
            super().handleError(record)


def _cause_logs() -> dict[str, str]:
    return {name: text for name, text in asdict(current()).items() if text}


@contextmanager
def log_to(folder: Path, level: str, redact: Redactor, form: Format = "text") -> Generator[None]:
    """Write our log messages to a file while inside; it is made when there is something to say."""
    logger = logging.getLogger(OURS)
    folder.mkdir(parents=True, exist_ok=True)
    handler = _LogFile(
        folder / "lra.log", maxBytes=_SIZE, backupCount=_KEPT, encoding="utf-8", delay=True
    )
    handler.setFormatter(_JsonFormatter(redact) if form == "json" else _TextFormatter(redact))
    before = logger.level
    logger.setLevel(level)
    heard = [logger, *(logging.getLogger(name) for name in _FOREIGN)]
    for each in heard:
        each.addHandler(handler)
    try:
        yield
    finally:
        for each in heard:
            each.removeHandler(handler)
        logger.setLevel(before)
        handler.close()


def set_level(level: Level) -> None:
    """Say more or less from now on, until the home is closed."""
    logging.getLogger(OURS).setLevel(level)


def level() -> Level:
    """How much is said now."""
    return cast("Level", logging.getLevelName(logging.getLogger(OURS).getEffectiveLevel()))
