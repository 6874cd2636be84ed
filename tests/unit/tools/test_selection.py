import json

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset

from long_running_agents.domain.context_window import allot
from long_running_agents.testing import ScriptedModel, call, say
from long_running_agents.tools.selection import (
    SEARCH,
    choose,
    core_tools,
    found_in,
    in_short,
    relevance,
    takes,
    tool_search,
)


def tool(name, description, **arguments):
    properties = {
        argument: {"type": "string", "description": text} for argument, text in arguments.items()
    }
    schema = {"type": "object", "properties": properties}
    return ToolDefinition(name=name, description=description, parameters_json_schema=schema)


READ_FILE = tool("read_file", "Read a file from the workspace. Then more words.", path="Where.")
WRITE_FILE = tool("write_file", "Write a file. Then more words.", path="Where. Relative.")
SEND_MAIL = tool("send_mail", "Send an e-mail to somebody.", to="Whom.", body="What.")
FILLERS = [tool(f"filler_{n}", "Does nothing of note. " * 10, x="Unused.") for n in range(60)]
CATALOG = [*FILLERS[:30], READ_FILE, WRITE_FILE, SEND_MAIL, *FILLERS[30:], *core_tools()]


def names(tools):
    return [tool.name for tool in tools]


def chosen(query="", found=(), window=4096, tools=CATALOG):
    return choose(tools, allot(window), lambda: query, found)


def test_all_are_offered_while_they_fit_and_there_is_nothing_to_search_for():
    assert chosen(window=400_000) == [tool for tool in CATALOG if tool.name != SEARCH]


def test_then_all_in_short():
    tools = [READ_FILE, *(tool(f"t{n}", "Short. " + "Long. " * 100) for n in range(15))]
    offered = chosen(tools=tools)
    assert names(offered) == names(tools)
    assert offered[0].description == "Read a file from the workspace."


def test_then_those_that_match_the_message_in_the_order_of_the_catalog():
    offered = chosen("Please write a mail and read the files in the folder")
    assert takes(offered) <= 1024
    assert [name for name in names(offered) if "filler" not in name] == [
        "read_file", "write_file", "send_mail", "search_tools", "read_result", "search_session",
    ]  # fmt: skip


def test_those_searched_for_come_last_and_leave_the_rest_as_it_was():
    before = chosen("mail")
    after = chosen("mail", found=["filler_55", "no_such_tool", "filler_54", "send_mail"])
    assert after[: len(before)] == before
    assert names(after[len(before) :]) == ["filler_55", "filler_54"]


def test_of_too_many_searched_for_the_newest_stay():
    found = [f"filler_{n}" for n in range(20, 60)]
    after = chosen("mail", found=found)
    assert names(after)[-1] == "filler_59"
    assert takes(after) <= 1024 + int(4096 * 0.15)


def test_short_is_one_sentence_for_the_tool_and_for_each_argument():
    brief = in_short(WRITE_FILE)
    assert brief.description == "Write a file."
    assert "Relative" not in json.dumps(brief.parameters_json_schema)
    assert "Relative" in json.dumps(WRITE_FILE.parameters_json_schema)


def test_a_rare_word_and_a_name_count_more():
    scores = relevance("reading mails", [READ_FILE, WRITE_FILE, SEND_MAIL])
    assert scores["read_file"] > 0
    assert scores["send_mail"] > 0
    assert scores["write_file"] == 0


def test_a_result_of_the_search_is_read_for_names():
    assert found_in([{"name": "a", "description": ""}, "odd", {}]) == ["a"]
    assert found_in("nothing") == []


@pytest.mark.anyio
async def test_the_search_finds_what_is_not_offered():
    others = FunctionToolset()
    others.add_function(lambda: 1, name="send_mail", description="Send an e-mail.")
    others.add_function(lambda: 1, name="read_file", description="Read a file.")
    model = ScriptedModel([call(SEARCH, query="send mail"), call(SEARCH, query="zzz"), say("x")])
    result = await Agent(model, toolsets=[others, tool_search()]).run("go")
    returns = [
        part.content
        for message in result.all_messages()
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert returns == [[{"name": "send_mail", "description": "Send an e-mail."}], []]
