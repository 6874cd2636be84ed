"""Writes the reference pages from the code: `python docs/generate.py [--check]`.

With `--check` nothing is written: stale pages are shown as a diff, and the exit code is 1.
"""

# ruff: noqa: INP001 - a script beside the documents, no package

import argparse
import asyncio
import difflib
import inspect
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from long_running_agents import errors
from long_running_agents.config import loader
from long_running_agents.config.settings import Settings
from long_running_agents.domain import events
from long_running_agents.domain.events import meanings
from long_running_agents.tools.catalog import families
from long_running_agents.tools.deps import effect_of

DOCS = Path(__file__).parent

_NOTICE = "<!-- Made by docs/generate.py; change the code it describes, then run that. -->"

_KEYS = (
    ("OPENAI_API_KEY", "Key for `openai:…` models."),
    ("OPENROUTER_API_KEY", "Key for `openrouter:…` models."),
    ("ANTHROPIC_API_KEY", "Key for `anthropic:…` models."),
    ("GEMINI_API_KEY, GOOGLE_API_KEY", "Key for `google:…` models; the first that is set."),
    ("AGENT_MODEL_KEY", "Key for your own server at `agent.model.base_url`, if it wants one."),
    (
        "EMBEDDING_API_KEY",
        "Key for your own server at `memory.embedding_base_url`, if it wants one.",
    ),
    ("BRAVE_API_KEY", "Key for Brave's search, where `web.search_provider` is `brave`."),
    ("SANDBOX_API_KEY", "Key of the sandbox server, for it and for its clients."),
    ("DOCKER_HOST", "The socket of a Docker API, for sandboxes in containers."),
    (
        "OTEL_EXPORTER_OTLP_HEADERS",
        "Headers for the collector of traces, such as its key: `name=value`, with commas between.",
    ),
    ("OTEL_SERVICE_NAME", "What traces call this program, unless `long-running-agents`."),
    (loader.HOME, "The home, unless `--home` names another."),
)

Row = Sequence[str]


def table(head: Row, rows: Sequence[Row]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def page(title: str, *parts: str) -> str:
    """A page: notice, title, parts."""
    return "\n\n".join([_NOTICE, f"# {title}", *parts]) + "\n"


def settings_page() -> str:
    """Every setting."""
    rows = list(_settings(Settings, ""))
    head = ["key", "type", "default", "what it is for", "environment"]
    return page(
        "Settings",
        "A value comes from the first of these that has it: a flag of the command, the"
        " environment, `.env` in the home, `config.toml` (or `config.json`) in the home, `.env` in"
        " the current folder, the default. Of the current folder only the `AGENT_…` names are read,"
        " and API keys, which are used only for a model that you choose. `lra config --origin`"
        " shows where each one came from. A key nobody knows is refused, with the nearest one that"
        " exists.",
        "In `config.toml` the part before the last dot is the table:",
        '```toml\n[agent.model]\nmodel_id = "openai:gpt-5-mini"\nfallback = ["ollama:qwen3"]\n\n'
        '[agent.tools]\nrequire_approval = ["create_task"]\n```',
        "A variable named `LRA_` and the key, with `__` for each dot, sets any of them; several"
        " have a shorter name too. Lists are written with commas.",
        table(head, rows),
        "## Keys and places",
        "These are read from the environment or from `.env`; they are no settings, and what they"
        " hold never reaches the database or the log.",
        table(["variable", "what it is for"], [[f"`{name}`", text] for name, text in _KEYS]),
    )


def _settings(model: type[BaseModel], prefix: str) -> Iterator[list[str]]:
    for name, field in model.model_fields.items():
        key = f"{prefix}{name}"
        annotation: Any = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from _settings(annotation, f"{key}.")
        else:
            yield [
                f"`{key}`",
                _type(annotation),
                _default(field.default),
                meanings(model).get(name, ""),
                " ".join(f"`{variable}`" for variable in _variables(key)),
            ]


def _type(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return " or ".join(get_args(annotation))
    if get_origin(annotation) is tuple:
        return "list of text" if get_args(annotation)[0] is str else "list of tables"
    if get_origin(annotation) is UnionType:
        return " or ".join(_type(part) for part in get_args(annotation) if part is not NoneType)
    return _WORDS[annotation]


_WORDS: dict[object, str] = {
    bool: "true or false",
    Decimal: "number",
    float: "number",
    int: "whole number",
    str: "text",
}


def _default(value: object) -> str:
    if value is None or value == "":
        return "unset"
    if value == ():
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _variables(key: str) -> Iterator[str]:
    yield from (name for name, named in loader.NAMED.items() if named == key)
    yield loader.PREFIX + key.upper().replace(".", "__")


def errors_page() -> str:
    """Every error."""
    rows = [
        [
            f"`{kind.__name__}`",
            f"`{kind.code}`",
            str(kind.exit_code),
            str(kind.http_status),
            _summary(kind),
        ]
        for kind in _tree(errors.LraError)
    ]
    return page(
        "Errors",
        "Every error says what happened and what to do next. Programs read the code or the exit"
        " status, people the message. The server answers with the HTTP status.",
        table(["error", "code", "exit", "HTTP", "meaning"], rows),
        "An error of any other kind is a bug; please report it.",
    )


def _tree(kind: type[errors.LraError]) -> Iterator[type[errors.LraError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)


def _summary(thing: object) -> str:
    return (inspect.getdoc(thing) or "").split("\n\n")[0]


def events_page() -> str:
    """Every event and delta."""
    union: Any = events.Event
    facts = get_args(get_args(union)[0])
    passing = get_args(events.Delta)
    closing = ", ".join(f"`{_kind(shape)}`" for shape in events.CLOSING)
    return page(
        "Events",
        "An **event** is a fact: stored first, then told. Within its session events are numbered"
        " 1, 2, 3 …, so whoever was away asks for those after the last number seen. A **delta**"
        " is passing news: never stored, without a number, and lost without harm.",
        f"Exactly one of {closing} ends a turn; a turn that is retried ends once more.",
        "On the wire each is one JSON object with its `type`. Events carry `seq`, `session_id`,"
        " `turn_id` and `at` besides their own fields; deltas carry `session_id` and `turn_id`.",
        "## Events",
        *(_shape(shape) for shape in facts),
        "## Deltas",
        *(_shape(shape) for shape in passing),
        "## Parts of events",
        _shape(events.RecalledMemory),
        _shape(events.TaskItem),
        _shape(events.UsageTotals),
    )


def _kind(shape: type[BaseModel]) -> str:
    field = shape.model_fields.get("type")
    return shape.__name__ if field is None else str(field.default)


def _shape(shape: type[BaseModel]) -> str:
    rows = [
        [f"`{name}`", f"`{_field_type(field.annotation)}`", meanings(shape).get(name, "")]
        for name, field in shape.model_fields.items()
        if name != "type"
    ]
    title = f"### `{_kind(shape)}`\n\n`{shape.__name__}`: {_summary(shape)}"
    return f"{title}\n\n{table(['field', 'type', 'meaning'], rows)}"


def _field_type(annotation: Any) -> str:
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    if "JsonValue" in str(annotation):
        return "JSON"
    return str(annotation).replace(f"{events.__name__}.", "").replace(" | None", " or null")


def tools_page() -> str:
    """Every built-in tool."""
    parts: list[str] = []
    for toolset in families(network=False):
        parts.append(f"## {toolset.id}")
        # Every built-in toolset is a FunctionToolset, which knows its tools by name.
        tools: dict[str, Any] = getattr(toolset, "tools", {})
        for name, tool in tools.items():
            schema: dict[str, Any] = tool.function_schema.json_schema
            needed = schema.get("required", ())
            rows = [
                [
                    f"`{argument}`",
                    "needed" if argument in needed else _default(about.get("default")),
                    str(about.get("description", "")),
                ]
                for argument, about in schema["properties"].items()
            ]
            parts.append(
                f"### `{name}`\n\n{tool.description} Effect: {_effect(tool.tool_def)}.\n\n"
                + table(["argument", "default", "meaning"], rows)
            )
    return page(
        "Tools",
        "What the model may call. [Write a tool](how-to/write-a-tool.md) says what the effects"
        " mean and how to add your own. `agent.tools.allow` narrows the list,"
        " `agent.tools.require_approval` makes the agent ask first: see [settings](settings.md).",
        "`read_result` and `search_tools` are offered only where a model's context window is known,"
        " since only there something may be left out. `memory`, `memory_search`, `list_directory`,"
        " `pyexe` and `fetch` are other names of tools: they can be called and are not offered. A"
        " model whose name says that it is small (up to 3.5b) is offered at most six tools, by the"
        " words of the message and by what was used before.",
        *parts,
    )


def _effect(tool: Any) -> str:
    usual, careful = effect_of(tool, {}), effect_of(tool)
    return f"**{usual}**" if usual is careful else f"**{usual}** by default, else **{careful}**"


def commands_page() -> str | None:
    """Every command; None while there is no command line to describe."""
    try:
        import click  # noqa: PLC0415 - only this page needs it

        from long_running_agents.cli.slash import REGISTRY  # noqa: PLC0415 - as above

        main = import_module("long_running_agents.cli.main")
    except ModuleNotFoundError:
        return None
    root = next(found for found in vars(main).values() if isinstance(found, click.Group))
    exits = [
        ["0", "done"],
        ["1", "failed"],
        ["2", "the command was not understood"],
        ["3", "no such session, task, approval …"],
        ["4", "denied"],
        ["5", "a budget was used up"],
        ["75", "busy or not reachable; try again later"],
        ["130", "interrupted"],
    ]
    return page(
        "Commands",
        "`lra COMMAND --help` says the same at the terminal. Every command takes the options of"
        " `lra` itself, before its name or after it.",
        *_command(click.Context(root, info_name="lra")),
        "## Inside a chat",
        "A line that begins with one of these words is a command; all else is a message.",
        table(["command", "meaning"], [[f"`{s.usage}`", s.help] for s in REGISTRY.values()]),
        "## Exit codes",
        table(["code", "meaning"], exits),
        "[Errors](errors.md) says which error ends with which code.",
    )


def _command(context: Any) -> Iterator[str]:
    command = context.command
    depth = "##" if context.parent is None or context.parent.parent is None else "###"
    usage = f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}".strip()
    yield f"{depth} `{context.command_path}`"
    text = inspect.cleandoc(command.help or command.short_help or "").split("\f")[0]
    if text:
        yield text.replace("\b\n", "")
    yield f"```text\n{usage}\n```"
    rows = [list(record) for record in _options(command, context)]
    if rows:
        yield table(["option", "meaning"], [[f"`{name}`", help_] for name, help_ in rows])
    for name in getattr(command, "list_commands", lambda _: ())(context):
        child = command.get_command(context, name)
        if child is not None and not child.hidden:
            yield from _command(type(context)(child, info_name=name, parent=context))


def _options(command: Any, context: Any) -> Iterator[tuple[str, str]]:
    for parameter in command.get_params(context):
        # Arguments are in the usage line already.
        if parameter.param_type_name == "option" and "--help" not in parameter.opts:
            record = parameter.get_help_record(context)
            if record is not None:
                yield record


def api_page() -> str:
    """Every route."""
    described = _described()
    groups: dict[str, list[Row]] = {}
    for path, methods in described["paths"].items():
        for method, about in methods.items():
            scope = about.get("x-scope", "none")
            row = [f"`{method.upper()} {path}`", scope, f"{about['summary']}."]
            groups.setdefault(about["tags"][0], []).append(row)
    error = described["components"]["schemas"]["ErrorBody"]["example"]
    return page(
        "HTTP API",
        "`lra serve` answers these. `/openapi.json` describes each with its parameters, bodies and"
        " examples. What a token may do is its scopes: `read`, `chat`, `approve` and `admin`.",
        "Bodies are JSON and say so (`Content-Type: application/json`); what is not JSON, or only"
        " nearly, is refused. What is another owner's is not there. Lists come in pages: `next`"
        " says what to ask for, and is null at the end.",
        "Whatever goes wrong is told in one shape; `code` is for programs, and"
        " [errors](errors.md) lists them:",
        f"```json\n{json.dumps(error, indent=2)}\n```",
        *(
            f"## {name}\n\n{table(['route', 'scope', 'what it does'], rows)}"
            for name, rows in groups.items()
        ),
        "No route calls a tool: tools are called by the model, and pass the gate.",
    )


def _described() -> dict[str, Any]:
    """What a server says of itself."""
    from long_running_agents.clock import SystemClock  # noqa: PLC0415 - only this page needs it
    from long_running_agents.server.asgi import api  # noqa: PLC0415 - as above
    from long_running_agents.testing import ScriptedModel, make_app  # noqa: PLC0415 - as above

    async def describe() -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as home:
            model = ScriptedModel([])
            async with make_app(Path(home), model=model, memory__enabled=False) as app:
                return api(app, SystemClock()).openapi()

    return asyncio.run(describe())


PAGES: dict[str, Callable[[], str | None]] = {
    "api.md": api_page,
    "commands.md": commands_page,
    "errors.md": errors_page,
    "events.md": events_page,
    "settings.md": settings_page,
    "tools.md": tools_page,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, or with ``--check`` say which are stale."""
    parser = argparse.ArgumentParser(description="Write the reference pages from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when stale")
    check = parser.parse_args(arguments).check
    stale = False
    for name, make in PAGES.items():
        new = make()
        path = DOCS / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if new is None or new == old:
            continue
        stale = True
        if check:
            diff = difflib.unified_diff(
                old.splitlines(), new.splitlines(), f"docs/{name}", "the code", lineterm=""
            )
            sys.stdout.write("\n".join(diff) + "\n")
        else:
            path.write_text(new, encoding="utf-8")
            sys.stdout.write(f"wrote {path.name}\n")
    if check and stale:
        sys.stdout.write("\nThe reference is stale: run 'python docs/generate.py'.\n")
    return int(check and stale)


if __name__ == "__main__":
    sys.exit(main())
