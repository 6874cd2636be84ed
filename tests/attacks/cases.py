"""The cases, as data."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FILES = ("code.jsonl", "own.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One attempt. A success prints a word that its source never contains in one piece."""

    id: str
    kind: str
    lang: str
    code: Any
    must_not: str
    control: bool
    timeout: float
    check: str = ""
    twice: bool = False
    net_external: bool = False
    not_for: tuple[str, ...] = ()
    """Backends against which it would show nothing."""


def load() -> list[Case]:
    """Every case that is code."""
    lines = [
        line for name in FILES for line in (HERE / name).read_text(encoding="utf-8").splitlines()
    ]
    return [Case(**json.loads(line)) for line in lines]


def filled(code: Any, places: dict[str, str]) -> Any:
    """A case's code with the names of this run's canaries."""
    if isinstance(code, dict):
        return {key: filled(value, places) for key, value in code.items()}
    if isinstance(code, str):
        for name, value in places.items():
            code = code.replace(f"{{{name}}}", value)
    return code
