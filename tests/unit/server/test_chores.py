"""Which requests are chores of a front end."""

import pytest

from long_running_agents.server.openai.history import HistoryEntry, SpeakerRole, is_chore

AIDER = (
    "You are an expert software engineer that generates concise, \\\none-line Git commit messages"
    " based on the provided diffs."
)


def user(text):
    return HistoryEntry(role=SpeakerRole.USER, text=text)


def system(text):
    return HistoryEntry(role=SpeakerRole.SYSTEM, text=text)


@pytest.mark.parametrize(
    ("said", "metadata", "stream"),
    [
        ([user("### Task:\nGenerate a concise title")], {}, False),
        ([user("### Task:\nGenerate 1-3 broad tags")], {}, False),
        ([user("anything")], {"task": "title_generation"}, True),
        ([user("Provide a concise, 5-word-or-less title for the conversation, …")], {}, False),
        ([system("You are a title generator. You output only a title."), user("Hi")], {}, True),
        ([system(AIDER), user("diff --git a/x b/x")], {}, False),
    ],
)
def test_an_chore(said, metadata, stream):
    assert is_chore(said, metadata, tools=False, stream=stream)
    assert not is_chore(said, metadata, tools=True, stream=stream)


@pytest.mark.parametrize(
    ("said", "stream"),
    [
        ([user("Generate a title for my novel")], False),
        ([user("### Task:\nWrite it")], True),
        ([user("### Task:\nWrite it"), user("Please")], False),
        ([system("You are helpful."), user("Hello")], False),
        ([user("Look at ### Task: in the text")], False),
    ],
)
def test_no_chore(said, stream):
    assert not is_chore(said, {}, tools=False, stream=stream)
