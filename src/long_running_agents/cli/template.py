"""The files a new home begins with."""

import json
from collections.abc import Iterator
from typing import Any, cast

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from long_running_agents.config.settings import Settings
from long_running_agents.domain.described import meanings

ENV = """\
# Keys and other secrets: one NAME=value a line, for your eyes only (chmod 600).
# Take the '#' away from the one you use.

# OPENAI_API_KEY=
# OPENROUTER_API_KEY=
# ANTHROPIC_API_KEY=
# GEMINI_API_KEY=

# The model, as provider:model.
# AGENT_MODEL=openai:gpt-5-mini

# Or any OpenAI-compatible server; AGENT_MODEL is then its bare model name.
# AGENT_MODEL_URL=http://127.0.0.1:1234/v1
# AGENT_MODEL_KEY=
"""

SOUL = """\
# Who you are

You are a calm, capable assistant that works for one person over a long time.

- Say what you did, what you found and what you do not know.
- Keep answers short; give details when asked.
- Plan longer work as tasks and tick them off.
- Before anything that cannot be undone, ask.
"""

USER = """\
# Who you work for

Write here what the agent should always know about you: your name, what you work on,
how you like to be answered, what it must never touch.
"""

_HEAD = """\
# Settings of this home. Every key is shown with its default and does nothing until you take the
# '#' away. 'lra config --origin' shows what is in force and why. Secrets belong in .env.
"""


def config_toml() -> str:
    """Every setting with its description, commented out."""
    return "\n".join([_HEAD, *_section(Settings, "")]).rstrip() + "\n"


def _section(model: type[BaseModel], path: str) -> Iterator[str]:
    # In TOML a table's own keys must come before its sub-tables.
    described = meanings(model)
    inner: list[tuple[str, type[BaseModel]]] = []
    for name, field in model.model_fields.items():
        annotation = cast("object", field.annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            inner.append((f"{path}{name}", annotation))
        else:
            yield from _key(name, field, described.get(name, ""))
    for name, section in inner:
        yield from (f"# {section.__doc__}", f"[{name}]")
        yield from _section(section, f"{name}.")


def _key(name: str, field: FieldInfo, meaning: str) -> Iterator[str]:
    default: Any = field.default
    yield f"# {meaning}"
    # An unset value has no spelling in TOML.
    yield f"# {name} = {'' if default is None else _toml(default)}".rstrip()
    yield ""


def _toml(value: object) -> str:
    # Strings, numbers, booleans and lists are spelled alike in JSON and TOML.
    return json.dumps(value)
