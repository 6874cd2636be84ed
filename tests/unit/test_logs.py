import logging

from long_running_agents.domain.redaction import Redactor
from long_running_agents.logs import log_to


def test_the_log_holds_messages_and_tracebacks_without_secrets(tmp_path):
    logger = logging.getLogger("long_running_agents.test")
    with log_to(tmp_path / "logs", "INFO", Redactor(["secret-value"])):
        logger.info("hello %s", "secret-value")
        logger.debug("too quiet")
        try:
            int("secret-value")
        except ValueError:
            logger.exception("oh")
    logger.warning("after")

    text = (tmp_path / "logs" / "lra.log").read_text(encoding="utf-8")
    assert "INFO long_running_agents.test: hello [redacted]" in text
    assert "ValueError: invalid literal for int() with base 10: '[redacted]'" in text
    for absent in ("secret-value", "too quiet", "after"):
        assert absent not in text


def test_without_anything_to_say_there_is_no_file(tmp_path):
    before = logging.getLogger("long_running_agents").level
    with log_to(tmp_path, "WARNING", Redactor()):
        pass

    assert list(tmp_path.iterdir()) == []
    assert logging.getLogger("long_running_agents").level == before
