"""`lra create-agent`, `run` and `list-agents`: agents that lie in folders of yours."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from long_running_agents.cli.access import with_agents
from long_running_agents.cli.agents import own_agent
from long_running_agents.cli.chat import model_option, talk
from long_running_agents.cli.main import Options, command, unsafe_local_option
from long_running_agents.cli.output import note, print_list, read_text
from long_running_agents.domain.agent import AgentDraft, AgentSpec, AgentStage
from long_running_agents.errors import NotFound, UsageError, storing

if TYPE_CHECKING:
    from long_running_agents.api import AgentApi

AGENT, MAIN = "agent.md", "main.py"
_DEFAULT = "my_agent"
_PROGRAM = '''\
"""Ask this agent: python main.py "What can you do?"."""

import asyncio
import sys
from pathlib import Path

from long_running_agents import AgentDeps, StructuredMemoryStore, run_agent


async def main(question: str) -> None:
    store = StructuredMemoryStore()
    await store.init_db()
    try:
        agent = await store.use_agent(Path(__file__).with_name("agent.md"))
        answer, _ = await run_agent(question, AgentDeps(agent, store, agent=agent))
        print(answer)
    finally:
        await store.close()


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "What can you do?"))
'''


@command("create-agent")
@click.argument("name", default=_DEFAULT)
@click.option("--prompt", help="What the agent is told first; asked for unless given.")
def create_agent(options: Options, name: str, prompt: str | None) -> None:
    """Make a folder with an agent of yours: agent.md says what it is, main.py asks it."""
    from long_running_agents.agent.agent_files import as_markdown
    from long_running_agents.agent.registry import file_words

    draft, folder = AgentDraft(name=name), Path(name)
    if folder.exists():
        raise UsageError(f"{name} is there already.", hint="Choose another name, or remove it.")
    if prompt is None:
        if not sys.stdin.isatty():
            raise UsageError("Nothing says what the agent is told.", hint="Give it with --prompt.")
        prompt = str(click.prompt("What is the agent told?", err=True))
    told = next(iter(prompt.strip().splitlines()), "")[:200]
    draft = replace(draft, description=told, instructions=prompt.strip())
    text = as_markdown(draft, file_words(options.load().settings))
    with storing(folder):
        folder.mkdir()
        (folder / AGENT).write_text(text, encoding="utf-8")
        (folder / MAIN).write_text(_PROGRAM, encoding="utf-8")
    note(f"{name}/{AGENT} says what it is. 'lra run {name}' talks with it.")


@command("run")
@click.argument("path", default=".")
@click.option("--continue", "newest", is_flag=True, help="Go on in the newest session.")
@model_option
@click.option("--yes", is_flag=True, help="Allow every tool call that needs an approval.")
@unsafe_local_option
def run(options: Options, path: str, newest: bool, model: str | None, yes: bool) -> int:
    """Talk with an agent: a folder with an agent.md, that file, its main.py, or an agent's name.

    What the file of a folder says is published as the newest version first, if it has changed.
    """
    from long_running_agents.cli.conversation import ChatOptions

    file = _file(Path(path))
    spec = _named(options, path) if file is None else _from_folder(options, file)
    colored = options.colored() is not False
    wanted = ChatOptions(newest=newest, model=model, yes=yes, colored=colored, agent=spec.name)
    return talk(options, wanted)


@command("list-agents", json=True)
def list_agents(options: Options, as_json: bool) -> None:
    """List the agent folders here, and the agents that are published."""
    files = sorted({*Path().glob(AGENT), *Path().glob(f"*/{AGENT}")})
    rows: list[dict[str, Any]] = []
    for file in files:
        try:
            draft = own_agent(options, file, read_text(file)).draft
        except UsageError as error:
            note(error.message)
            continue
        folder = str(file.parent)
        rows.append({"name": draft.name, "where": folder, "description": draft.description})
    rows += [
        {"name": spec.name, "where": spec.label, "description": spec.description}
        for spec in with_agents(options, lambda service: service.every())
        if spec.stage is AgentStage.PUBLISHED
    ]
    print_list(
        rows, "name, where, what it is for", lambda row: tuple(row.values()), as_json=as_json
    )


def _file(path: Path) -> Path | None:
    """The file that describes the agent which a path means; None when it is no path."""
    if path.is_dir():
        inside = [path / AGENT, *([path / _DEFAULT / AGENT] if path == Path() else [])]
    else:
        inside = [path.with_name(AGENT)] if path.name == MAIN else [path]
    found = next((file for file in inside if file.is_file()), None)
    if found is None and (path.exists() or len(path.parts) > 1):
        raise NotFound(f"There is no {AGENT} in {path}.", hint="'lra create-agent' makes one.")
    return found


def _named(options: Options, name: str) -> AgentSpec:
    spec = with_agents(options, lambda service: service.get(name))
    if spec.stage is not AgentStage.PUBLISHED:
        raise UsageError(f"{spec.label} is {spec.stage}.", hint=f"'lra agents publish {name}'")
    return spec


def _from_folder(options: Options, file: Path) -> AgentSpec:
    """Have what a person's folder says in use."""
    found = own_agent(options, file, read_text(file))
    for warning in found.warnings:
        note(warning)
    origin = f"folder:{file.parent.resolve()}"

    async def work(service: "AgentApi") -> AgentSpec:
        from long_running_agents.agent.registry import use_own

        return await use_own(service, found.draft, origin)

    return with_agents(options, work)
