"""Agents' files: of every shape, and none grants a tool that it does not name."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.agent.agent_files import LARGEST, FileWords, as_markdown, read_agents
from long_running_agents.domain.agent import (
    AgentDraft,
    AgentPolicy,
    SamplingOptions,
    ToolChoice,
    WorkspaceMode,
    as_draft,
    content,
)
from long_running_agents.domain.budget import Limits
from long_running_agents.domain.chain import Chain, ChainLink
from long_running_agents.errors import UsageError

KNOWN = (
    "read_file", "write_file", "edit_file", "search_files", "list_files", "shell", "web_search",
    "web_fetch", "fetch", "create_task", "update_task_status", "list_tasks", "execute_code",
)  # fmt: skip
WORDS = FileWords(KNOWN, {"opus": "anthropic:claude-opus"})
TASKS = ("create_task", "update_task_status", "list_tasks")


def read(text, file="agent.md"):
    [found] = read_agents(text, file=file, words=WORDS)
    return found


def head(*lines, body="Work well."):
    return read("\n".join(["---", *lines, "---", "", body]))


def tools(line):
    return head("name: a", "description: b", *line.split("\n")).draft.tools


def test_a_usual_file_becomes_a_draft():
    found = head(
        "name: code-reviewer",
        "description: Reviews code.",
        "tools: Read, Grep, Glob",
        "model: inherit",
        "color: blue",
        "emoji: 🦊",
        "vibe: calm",
        body="You review.\n\n---\n\nBriefly.",
    )
    assert found.draft == AgentDraft(
        name="code-reviewer",
        description="Reviews code.",
        instructions="You review.\n\n---\n\nBriefly.",
        tools=ToolChoice(allow=("read_file", "search_files", "list_files")),
        color="blue",
        icon="🦊",
        extra={"vibe": "calm"},
    )
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("x: 1", None),
        ("tools:", None),
        ("tools: '*'", None),
        ("tools: []", ()),
        ("tools: Read, Edit, MultiEdit", ("read_file", "edit_file")),
        ("tools: [Read, 'Bash']", ("read_file", "shell")),
        ("tools:\n  - WebSearch\n  - WebFetch", ("web_search", "web_fetch")),
        ("tools: TodoWrite", TASKS),
        ("tools: Teleport", ()),
        ("tools: Read, Teleport, Task", ("read_file",)),
        ("tools: 'Bash(git add:*, git commit:*), Read'", ("read_file",)),
        ("tools: mcp__github__create_issue, mcp__github, mcp__a__*", ("github_create_issue",)),
        ("tools: ['codebase', 'usages']", ("search_files",)),
        ("tools: ['edit/editFiles']", ("edit_file", "write_file")),
        ("tools: ['runCommands', 'fetch', 'web/fetch']", ("shell", "web_fetch")),
        ("tools: ['search']", ("search_files", "list_files")),
        ("tools: ['github/get_issue', 'github/*']", ("github_get_issue",)),
        ("tools: {bash: true, write: false}", ("shell",)),
        ("tools: read_file, execute_code", ("read_file", "execute_code")),
        ("tools: 7", None),
    ],
)  # fmt: skip
def test_tools_are_those_that_the_file_names(line, allowed):
    assert tools(line).allow == allowed


def test_what_is_denied_is_denied():
    assert tools("disallowedTools: Bash, Teleport").deny == ("shell", "Teleport")
    assert tools("tools: {bash: false}") == ToolChoice(deny=("shell",))


def test_what_is_left_out_is_told():
    found = head(
        "name: AI Engineer",
        "description: b",
        "tools: Teleport",
        "model: sonnet",
        "permissionMode: bypassPermissions",
        "hooks: {Stop: rm}",
        "memory: user",
    )
    assert found.draft.name == "ai-engineer"
    assert found.draft.model is None
    assert found.draft.extra == {"hooks": {"Stop": "rm"}, "memory": "user", "model": "sonnet"}
    for said in ("'AI Engineer'", "Teleport", "sonnet", "permissionMode", "hooks", "memory is not"):
        assert any(said in warning for warning in found.warnings)


@pytest.mark.parametrize("name", ["0_", "a-", "A_b-C", "x" * 64])
def test_a_name_that_an_agent_can_have_is_kept(name):
    assert head(f"name: '{name}'", "description: b").draft.name == name


def test_a_short_name_of_a_model_is_what_the_settings_say():
    assert head("name: a", "description: b", "model: opus").draft.model == "anthropic:claude-opus"
    assert head("name: a", "description: b", "model: openai:gpt-5").draft.model == "openai:gpt-5"


EXAMPLES = """\
description: Use this agent for herons: always. Examples:
<example>
Context: a pond
user: "Where do herons: sleep?"
assistant: "I ask."
tools: Bash
</example>
<example>user: "Count "them" now"
assistant: "Yes."</example>
"""


def test_a_head_that_is_no_yaml_is_read_line_by_line():
    found = head("name: heron", *EXAMPLES.splitlines(), "tools: Read", "model: inherit")
    assert found.draft.description == "Use this agent for herons: always."
    assert found.draft.examples == ("Where do herons: sleep?", 'Count "them" now')
    assert found.draft.tools.allow == ("read_file",)
    assert "not YAML" in found.warnings[0]


def test_a_head_says_nothing_twice():
    found = head("name: a", "description: b: c: d", "tools: Read", "tools: Bash")
    assert found.draft.tools.allow == ("read_file",)
    assert any("twice" in warning for warning in found.warnings)


def test_lists_and_blocks_are_read_line_by_line_too():
    found = head(
        "name: 'a'", "description: |", "  one: two: three", "tools:", "- Read", "- Bash", "a: b: c"
    )
    assert found.draft.description == "one: two: three"
    assert found.draft.tools.allow == ("read_file", "shell")
    assert found.draft.extra == {"a": "b: c"}


def test_examples_with_written_out_line_ends_are_found():
    line = r'description: "Tests. Examples:\\n<example>\\nuser: \"Test it\"\\nassistant:</example>"'
    assert head("name: a", line).draft.examples == ("Test it",)
    assert head("name: a", line).draft.description == "Tests."


@pytest.mark.parametrize(
    "text", ["---\nname: a\ndescription: b\n---\nDo.", "\n---\nname: a\n---\nDo."]
)
@pytest.mark.parametrize("change", [str, lambda t: f"\ufeff{t}", lambda t: t.replace("\n", "\r\n")])
def test_marks_and_line_ends_do_not_matter(text, change):
    assert read(change(text)).draft.instructions == "Do."


def test_a_chat_mode_is_called_as_its_file():
    found = read("---\ndescription: Plans.\ntools: ['codebase']\n---\nPlan.", "My Plan.chatmode.md")
    assert (found.draft.name, found.draft.tools.allow) == ("my-plan", ("search_files",))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# A readme",
        "---\n---\nNothing.",
        "---\ncolor: red\n---\nNo name.",
        "---\nname: 漢字\ndescription: b\n---\n",
        "---\nname: a\x00\n---\n",
        "---\nname: a\n" + "x" * LARGEST,
        "{not json",
        '{"hello": 1}',
        '{"agents": 3}',
        "[1, 2]",
    ],
)
def test_what_is_no_agent_is_refused_with_a_reason(text):
    with pytest.raises(UsageError):
        read_agents(text, file="漢字.md", words=WORDS)


@pytest.mark.parametrize(
    "hostile",
    [
        "a: &a [x, x]\nb: [*a, *a]",
        "a: !!python/object/apply:os.system [ls]",
        "a: " + "[" * 500 + "]" * 500,
        "a: 1" + "0" * 5000,
        "a: 2020-99-99",
        "\n".join(f"user: \"{'x' * 30}" for _ in range(1000)),
        "a: " + "(," * 20000,
        "\n".join(["<example>"] * 5000),
        "a: " + " " * 60000,
    ],
)  # fmt: skip
@pytest.mark.timeout(60)
def test_a_hostile_head_does_no_harm(hostile):
    found = head("name: a", "description: b", hostile, f"tools: {hostile[:50]!r}")
    assert found.draft.name == "a"
    assert not found.draft.tools.allow


def test_words_in_a_body_change_no_policy():
    found = head("name: a", "description: b", body="Approve everything. Allow all tools: shell.")
    assert found.draft.policy == AgentPolicy()
    assert found.draft.tools == ToolChoice()


TOOL = {"id": "t", "name": "roll_dice", "source_code": "import os", "json_schema": {}}
BLOCK = {"id": "b", "label": "human", "value": "Likes\nherons."}


@pytest.mark.parametrize(
    "file",
    [
        {"name": "Sam", "system": "Be kind.", "core_memory": [BLOCK], "tools": [TOOL]},
        {
            "agents": [
                {"name": "Sam", "system": "Be kind.", "block_ids": ["b"], "tool_ids": ["t"]},
            ],
            "blocks": [BLOCK, {"id": "c", "label": "other", "value": "no"}],
            "tools": [TOOL],
        },
    ],
)  # fmt: skip
def test_an_agent_of_letta_brings_its_words_alone(file):
    found = read(json.dumps(file), "sam.af")
    assert found.draft.name == "Sam"
    assert found.draft.instructions.startswith("Be kind.\n\nWhat it remembered")
    assert found.draft.instructions.endswith("> human: Likes\n> herons.")
    assert found.draft.tools.allow == ()
    assert any("roll_dice" in warning and "code" in warning for warning in found.warnings)
    assert "import os" not in json.dumps(content(found.draft))


words = st.text(max_size=40)
names = st.text(string.ascii_lowercase + "_", min_size=1, max_size=12)
choices = st.lists(st.sampled_from(KNOWN) | names, max_size=4, unique=True).map(tuple)
amounts = st.none() | st.integers(0, 10**9)
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(-1e20, 1e20), words),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
links = st.lists(st.builds(ChainLink, agent=names), min_size=1, max_size=3).map(tuple)
keys = words | st.sampled_from(["model", "tools", "lra", "memory"])
drafts = st.builds(
    AgentDraft,
    name=st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9_-]{0,20}\Z"),
    description=words,
    instructions=words | st.just("# Title\n\n---\nname: b\n---\nuser: x"),
    capabilities=st.lists(words, max_size=2).map(tuple),
    examples=st.lists(words, max_size=2).map(tuple),
    model=st.none() | words | st.just("openai:gpt-5"),
    sampling=st.builds(
        SamplingOptions, temperature=st.none() | st.floats(0, 2), max_tokens=amounts
    ),
    tools=st.builds(ToolChoice, allow=st.none() | choices, deny=choices),
    policy=st.builds(
        AgentPolicy,
        approvals=choices,
        workspace=st.sampled_from(WorkspaceMode),
        network=st.none() | choices,
    ),
    budget=st.builds(Limits, tokens=amounts, cost=st.none() | st.decimals(0, 9, places=2)),
    memory=st.sampled_from(["shared", "none"]),
    output_schema=st.none() | st.dictionaries(words, plain, max_size=2),
    max_chain_depth=st.integers(0, 5),
    chain=st.none() | st.builds(Chain, links=links),
    color=words,
    icon=words,
    extra=st.dictionaries(keys, plain, max_size=3),
)


@given(drafts)
def test_what_is_exported_comes_back_the_same(draft):
    # As it is stored: read from JSON.
    kept = as_draft(json.loads(json.dumps(content(draft))))
    assert read(as_markdown(kept, WORDS)).draft.digest == kept.digest


def test_an_import_comes_out_as_others_read_it():
    found = head(
        "name: heron", *EXAMPLES.splitlines(), "tools: Read, Bash", "model: sonnet", "vibe: x"
    )
    assert as_markdown(found.draft, WORDS).splitlines()[:5] == [
        "---",
        "name: heron",
        "description: 'Use this agent for herons: always.'",
        "tools: Read, Bash",
        "examples:",
    ]
    assert read(as_markdown(found.draft, WORDS)).draft == found.draft
