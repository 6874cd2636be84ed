"""Which tools a small model is offered; what it makes of them is measured by the benchmark."""

import pytest
from benchmarks.small_model import EASY, INDIRECT, TALK
from pydantic_ai.tools import ToolDefinition

from long_running_agents.tools.catalog import WORK, built_in, families
from long_running_agents.tools.deps import CLIENT, alias_of
from long_running_agents.tools.selection import CORE, CUES, few

TOOLS = [tool.tool_def for tool in built_in(without=[WORK]).tools.values()]
OF_A_WORK = [tool.tool_def for tool in built_in().tools.values()]
MOST = 6


def offered(*said, used=(), tools=TOOLS):
    return [tool.name for tool in few(tools, said, used)]


@pytest.mark.parametrize("prompt", [*EASY, *INDIRECT], ids=lambda prompt: prompt.said)
def test_the_right_tool_is_among_few_and_none_that_remembers_unasked(prompt):
    names = offered(prompt.said)

    assert len(names) <= MOST
    assert prompt.wanted & {*names, ""}
    assert ("write_memory" in names) is ("write_memory" in prompt.wanted)


@pytest.mark.parametrize("said", [said for said in TALK if "fjord" not in said])
def test_small_talk_needs_none(said):
    assert offered(said, used=["read_file"]) == []


def test_what_was_used_before_is_offered_again_but_for_what_remembers():
    names = offered("And the other one?", used=["write_memory", "list_files", "read_file", "shell"])
    assert names == ["list_files", "read_file"]


def test_a_short_answer_is_read_with_the_message_before_it():
    assert "write_file" in offered("Save it as plan.txt.", "Yes, do.")


def test_words_that_say_nothing_of_a_tool_leave_the_usual_ones():
    assert len(offered("Kannst du mir etwas zeigen")) == 5


def test_the_tools_of_others_are_found_by_their_own_words():
    mail = ToolDefinition(name="send_mail", description="Send an e-mail to somebody.")
    assert offered("Send an e-mail to Ada.", tools=[*TOOLS, mail]) == ["send_mail"]
    assert offered("Which files are there?", tools=[*TOOLS, mail])[-1] != "send_mail"


@pytest.mark.parametrize("name", ["web_search", "execute_code", "data_view"])
def test_a_tool_that_is_named_is_offered(name):
    said = f"Use {name} on tasks, files, folders, pages, my command, and whatever I told you."
    assert name in offered(said)


def test_what_a_client_brought_along_is_always_offered():
    theirs = [ToolDefinition(name=f"theirs_{n}", metadata=CLIENT) for n in range(9)]
    assert len(offered("Hi", tools=[*TOOLS, *theirs])) == 9


@pytest.mark.parametrize("said", ["Hi", "Next is task #2: Rhyme.", "Read https://example.org/"])
def test_what_a_work_is_carried_out_with_is_always_offered_in_one(said):
    names = offered(said, tools=OF_A_WORK)
    assert {"manage_tasks", "read_file", "write_file", "shell"} <= {*names}
    assert not {"create_task", "update_task_status", "list_tasks", "get_task_state"} & {*names}
    assert len(names) <= MOST


def test_every_built_in_tool_has_its_words():
    tools = [tool.tool_def for each in families(network=False) for tool in each.tools.values()]
    own = {tool.name for tool in tools if not alias_of(tool)}
    assert own - set(CORE) <= set(CUES) <= {tool.name for tool in tools}
