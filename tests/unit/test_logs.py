import json
import logging

from long_running_agents.domain.redaction import Redactor
from long_running_agents.observe import logs
from long_running_agents.observe.logs import FIELDS, level, log_to, set_level


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


def lines(folder):
    return (folder / "lra.log").read_text(encoding="utf-8").splitlines()


def test_a_line_says_for_which_request_and_turn_it_was_written(tmp_path):
    logger = logging.getLogger("long_running_agents.test")
    with log_to(tmp_path, "INFO", Redactor()), logs.request("r1"):
        logger.info("asked")
        with logs.turn("t1", "s1"):
            logger.info("worked")
        logger.info("answered")
    assert [line.split(" long_running_agents.test")[1] for line in lines(tmp_path)] == [
        " request=r1: asked",
        " request=r1 turn=t1 session=s1: worked",
        " request=r1: answered",
    ]


def test_json_lines_hold_fields_and_tracebacks_and_no_secrets(tmp_path):
    logger = logging.getLogger("long_running_agents.test")
    secret = 'pass"word\n1'
    with log_to(tmp_path, "INFO", Redactor([secret]), "json"), logs.turn("t1", "s1"):
        logger.info("one\ntwo %s", secret, extra={FIELDS: {"ms": 1.5, "key": secret}})
        logger.error("broken", exc_info=ValueError(secret))
    first, second = map(json.loads, lines(tmp_path))
    assert first.pop("at").endswith("+00:00")
    assert first == {
        "level": "INFO",
        "logger": "long_running_agents.test",
        "message": "one\ntwo [redacted]",
        "turn_id": "t1",
        "session_id": "s1",
        "ms": 1.5,
        "key": "[redacted]",
    }
    assert second["exception"].endswith("ValueError: [redacted]")
    assert "word" not in (tmp_path / "lra.log").read_text(encoding="utf-8")


def test_the_level_changes_while_the_home_is_open(tmp_path):
    logger = logging.getLogger("long_running_agents.test")
    with log_to(tmp_path, "WARNING", Redactor()):
        logger.info("unheard")
        set_level("DEBUG")
        assert level() == "DEBUG"
        logger.debug("heard")
    assert [line.rsplit(": ")[-1] for line in lines(tmp_path)] == ["heard"]


def test_complaints_of_the_libraries_beneath_are_in_the_same_file(tmp_path):
    with log_to(tmp_path, "ERROR", Redactor(["secret-value"])):
        logging.getLogger("uvicorn.error").warning("Odd request")
        logging.getLogger("opentelemetry.exporter").warning("No collector: secret-value")
    assert [line.rsplit(": ")[-1] for line in lines(tmp_path)] == ["Odd request", "[redacted]"]
