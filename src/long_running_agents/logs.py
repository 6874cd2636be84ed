"""The log file of a home, without secrets."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

from typing_extensions import override

from long_running_agents.domain.redaction import Redactor

_OURS = "long_running_agents"
_SIZE = 5_000_000
_KEPT = 3


class _RedactingFormatter(logging.Formatter):
    def __init__(self, redact: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._redact = redact

    @override
    def format(self, record: logging.LogRecord) -> str:
        # The finished text, so that tracebacks and arguments are covered too.
        return self._redact(super().format(record))


@contextmanager
def log_to(folder: Path, level: str, redact: Redactor) -> Generator[None]:
    """Write our log messages, and those of the server beneath us, to a file while inside."""
    folder.mkdir(parents=True, exist_ok=True)
    handler = RotatingFileHandler(
        folder / "lra.log", maxBytes=_SIZE, backupCount=_KEPT, encoding="utf-8", delay=True
    )
    handler.setFormatter(_RedactingFormatter(redact))
    loggers = [logging.getLogger(name) for name in ("long_running_agents", "uvicorn")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(level)
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger, own in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(own)
        handler.close()


def level() -> str:
    """How much our log says now."""
    return logging.getLevelName(logging.getLogger(_OURS).getEffectiveLevel())


def set_level(name: str) -> None:
    """Let our log say more or less, until the home is closed."""
    logging.getLogger(_OURS).setLevel(name)
