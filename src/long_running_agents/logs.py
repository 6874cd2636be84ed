"""The log file of a home, without secrets."""

import json
import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Literal, cast

from typing_extensions import override

from long_running_agents import correlation
from long_running_agents.domain.redaction import Redactor

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
        record.cause = "".join(f" {_SHORT[name]}={text}" for name, text in _cause().items())
        # The finished text, so that tracebacks and arguments are covered too.
        return self._redact(super().format(record))


class _JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    @override
    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_cause(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return self._redact.json(json.dumps(told, ensure_ascii=False, default=str))


def _cause() -> dict[str, str]:
    return {name: text for name, text in asdict(correlation.current()).items() if text}


@contextmanager
def log_to(folder: Path, level: str, redact: Redactor, form: Format = "text") -> Generator[None]:
    """Write our log messages to a file while inside.

    Args:
        folder: Where the file is; it is made when there is something to say.
        level: How much is said.
        redact: Takes secrets out of every line.
        form: Lines for people, or JSON for programs.
    """
    logger = logging.getLogger(OURS)
    folder.mkdir(parents=True, exist_ok=True)
    handler = RotatingFileHandler(
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
