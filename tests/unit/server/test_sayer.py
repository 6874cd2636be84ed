"""Words that cannot be taken back, in an order that a client can take."""

from long_running_agents.domain.events import (
    RequestRetried,
    TextWritten,
    TurnLimited,
    TurnStopped,
    WordsArrived,
)
from long_running_agents.server.openai.stream import ANEW, TextAssembler


def arrived(text):
    return WordsArrived(text=text, iteration=1)


def retried():
    return RequestRetried(model="m", reason="cut", wait_seconds=1, iteration=1)


def said(sayer, *news):
    for each in news:
        spoken = isinstance(each, WordsArrived | RequestRetried)
        sayer.words(each) if spoken else sayer.fact(each)
    return sayer.sent


def test_words_are_passed_on_once():
    news = arrived("One "), arrived("two."), TextWritten(text="One two.")
    assert said(TextAssembler(), *news) == "One two."


def test_what_no_delta_brought_is_said_whole():
    news = TextWritten(text="One."), arrived("T"), TextWritten(text="Two.")
    assert said(TextAssembler(), *news) == "One.\n\nTwo."


def test_a_retry_that_says_the_same_is_not_heard():
    news = arrived("One "), retried(), arrived("One "), TextWritten(text="One two.")
    assert said(TextAssembler(), *news) == "One two."


def test_a_retry_that_says_something_else_is_told():
    news = arrived("One "), retried(), arrived("Uno"), TextWritten(text="Uno dos.")
    assert said(TextAssembler(), *news) == f"One \n\n{ANEW}\n\nUno dos."


def test_a_retry_before_the_first_word_changes_nothing():
    news = retried(), arrived("One"), TextWritten(text="One.")
    assert said(TextAssembler(), *news) == "One."


def test_whoever_comes_late_hears_whole_steps():
    news = (
        arrived("wo."),
        TextWritten(text="One two."),
        arrived("Three."),
        TextWritten(text="Three."),
    )
    assert said(TextAssembler(late=True), *news) == "One two.\n\nThree."


def test_a_limit_is_told_after_the_words():
    news = arrived("One"), TurnLimited(limit="steps", text="I had to stop.")
    assert said(TextAssembler(), *news) == "One\n\nI had to stop."


def test_whoever_wants_all_at_once_hears_nothing_void():
    news = arrived("One "), retried(), arrived("Uno"), TextWritten(text="Uno dos.")
    assert said(TextAssembler(whole=True), *news) == "Uno dos."


def test_the_words_of_a_stopped_turn_are_said_once():
    news = arrived("One "), TurnStopped(text="One ")
    assert said(TextAssembler(), *news) == said(TextAssembler(whole=True), *news) == "One "
