"""Reading guides: a folder with a SKILL.md, as the Agent Skills convention has it."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from long_running_agents.domain.redaction import Redactor
from long_running_agents.domain.skill import (
    GUIDE_NAME,
    Examined,
    File,
    Finding,
    Interface,
    Severity,
)
from long_running_agents.domain.workspace import is_sensitive
from long_running_agents.skills.dangers import dangers

LARGEST_TEXT = 64 << 10
"""Bytes that a SKILL.md may have."""
LARGEST_GUIDE = 1 << 20
"""Bytes that all files of a guide may have."""
MOST_FILES = 100
"""Files that a guide may have."""

_LARGEST_HEAD = 8 << 10
_LONGEST_DESCRIPTION = 1024
_LONGEST_PATH = 200
_DEEPEST = 8
_MOST_FINDINGS = 50

_HEAD = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_UNWRITTEN = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")
_EXPECTED = {
    "license": (str,),
    "compatibility": (str,),
    "metadata": (dict,),
    "allowed-tools": (str, list),
}


def read_guide(text: str, folder: str, files: Sequence[File], *, redact: Redactor) -> Examined:
    """Read and check a guide; what is wrong with it is found, not raised.

    Args:
        text: Its SKILL.md.
        folder: The name of its folder.
        files: Its other files, by their paths in the folder.
        redact: Knows the secrets that must not be in it.
    """
    if findings := _too_large(text, files):
        return _examined("", "", findings)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    head, body, findings = _divided(text)
    name, description = str(head.get("name", "")), str(head.get("description", "")).strip()
    if not findings:
        findings += [*_name_findings(head, folder), *_head_findings(head)]
        if not body.strip():
            findings.append(_error("It has no instructions.", "Write them below the head."))
    findings += _path_findings(files)
    for path, content in [("", text), *((file.path, file.content) for file in files)]:
        findings += _content_findings(content, _shown(path), redact)
    return _examined(redact(name)[:256], redact(description)[:_LONGEST_DESCRIPTION], findings)


def _examined(name: str, description: str, findings: Sequence[Finding]) -> Examined:
    interface = Interface(function="", description=description, parameters={})
    return Examined(name=name, findings=_shortened(findings), interface=interface)


def _error(message: str, repair: str, line: int = 0) -> Finding:
    return Finding(message=message, repair=repair, line=line)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _too_large(text: str, files: Sequence[File]) -> list[Finding]:
    # Measured before anything is looked at, so that nothing large ever is.
    if len(files) > MOST_FILES:
        return [_error(f"It has more than {MOST_FILES} files.", "Leave some out.")]
    if len(text) > LARGEST_TEXT or _size(text) > LARGEST_TEXT:
        repair = "Move parts of it into files below references/."
        return [_error(f"Its SKILL.md has more than {LARGEST_TEXT} bytes.", repair)]
    if sum(_size(file.content) for file in files) + _size(text) > LARGEST_GUIDE:
        return [_error(f"It has more than {LARGEST_GUIDE} bytes in all.", "Leave some files out.")]
    return []


def _divided(text: str) -> tuple[dict[str, Any], str, list[Finding]]:
    """The head as a table, the rest, and what is wrong with the head."""
    match = _HEAD.match(text)
    if match is None:
        repair = "Begin with a line ---, then name: and description:, then another line ---."
        return {}, text, [_error("It has no head.", repair, 1)]
    head, body = match.group(1), text[match.end() :]
    if _size(head) > _LARGEST_HEAD:
        repair = "Keep what is long for the instructions."
        return {}, body, [_error(f"Its head has more than {_LARGEST_HEAD} bytes.", repair, 1)]
    finding, table = _loaded(head)
    return table, body, [finding] if finding else []


def _loaded(head: str) -> tuple[Finding | None, dict[str, Any]]:
    """The head, read only when it is nothing but plain tables, lists and values."""
    import yaml  # noqa: PLC0415 - only those who read guides wait for it

    try:
        if finding := _not_plain(head) or _twice(head):
            return finding, {}
        table = cast("object", yaml.safe_load(head))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = f"Its head is not YAML: {_shown(str(error.problem or error.context))}."
        repair = "Put values that have a colon or a # in them into quotes."
        return _error(why, repair, 0 if mark is None else mark.line + 2), {}
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError):
        # A number without end, a day that never was: the values are the guide's.
        return _error("Its head cannot be read.", "Write plain values, in quotes.", 1), {}
    if not isinstance(table, dict):
        return _error("Its head is not a table.", "Write lines such as name: my-guide.", 1), {}
    return None, {str(key): value for key, value in cast("dict[object, Any]", table).items()}


def _not_plain(head: str) -> Finding | None:
    """What in a head could make more of itself than it is, told by the events of the parser."""
    import yaml  # noqa: PLC0415 - only those who read guides wait for it

    depth = 0
    parse = cast("Callable[..., Iterator[Any]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType]
    for event in parse(head, Loader=yaml.SafeLoader):
        line = int(event.start_mark.line) + 2
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            return _error("Its head has an anchor (&) or an alias (*).", "Write it out.", line)
        if getattr(event, "tag", None):
            return _error("Its head has a tag (!).", "Put the value into quotes.", line)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            return _error("Its head is nested too deeply.", "Write a flat table.", line)
    return None


def _twice(head: str) -> Finding | None:
    """What a head says twice: a person could read the one, and the model the other."""
    import yaml  # noqa: PLC0415 - only those who read guides wait for it

    compose = cast("Callable[..., Any]", yaml.compose)  # pyright: ignore[reportUnknownMemberType]
    node = compose(head, Loader=yaml.SafeLoader)
    seen: set[str] = set()
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        if str(key.value) in seen:
            line = int(key.start_mark.line) + 2
            return _error("Its head says something twice.", "Leave one of them out.", line)
        seen.add(str(key.value))
    return None


def _name_findings(head: dict[str, Any], folder: str) -> list[Finding]:
    name = head.get("name")
    if not isinstance(name, str) or not GUIDE_NAME.fullmatch(name):
        repair = "Write name: with at most 64 small letters, digits and single dashes."
        return [_error("It has no name that a guide can have.", repair, 1)]
    if name != folder:
        what = f"It is called {name!r}, and its folder {_shown(folder)!r}."
        return [_error(what, "Give both the same name.", 1)]
    return []


def _head_findings(head: dict[str, Any]) -> list[Finding]:
    description = head.get("description")
    found: list[Finding] = []
    if not isinstance(description, str) or not description.strip():
        repair = "Write description: with what it does and when to use it."
        found.append(_error("It has no description.", repair, 1))
    elif len(description.strip()) > _LONGEST_DESCRIPTION:
        what = f"Its description has more than {_LONGEST_DESCRIPTION} characters."
        found.append(_error(what, "Say only what it does and when to use it.", 1))
    for key, kinds in _EXPECTED.items():
        if head.get(key) is not None and not isinstance(head[key], kinds):
            wanted = " or ".join({str: "a text", dict: "a table", list: "a list"}[k] for k in kinds)
            found.append(_error(f"Its {key} is not {wanted}.", f"Write {wanted}, or none.", 1))
    return found


def _path_findings(files: Sequence[File]) -> list[Finding]:
    found: list[Finding] = []
    seen = {"skill.md"}
    for file in files:
        shown = _shown(file.path)
        if not _is_inside(file.path):
            what = f"The path {shown!r} leaves the folder, or cannot be one."
            found.append(_error(what, "Use a plain path below the folder."))
        elif file.path.casefold() in seen:
            found.append(_error(f"{shown!r} is there twice.", "Give each file its own name."))
        elif any(is_sensitive(part) for part in file.path.split("/")):
            what = f"{shown!r} is the name of a file that usually holds secrets."
            found.append(_error(what, "Leave it out."))
        seen.add(file.path.casefold())
    return found


def _is_inside(path: str) -> bool:
    unseen = any(unicodedata.category(letter)[0] == "C" for letter in path)
    return (
        0 < len(path) <= _LONGEST_PATH
        and not unseen
        and not re.search(r'[\\:*?"<>|]', path)
        and all(part.strip(". ") for part in path.split("/"))
    )


def _content_findings(content: str, path: str, redact: Redactor) -> list[Finding]:
    where = f"{path}: " if path else ""
    found: list[Finding] = []
    if match := _UNWRITTEN.search(content):
        line = content.count("\n", 0, match.start()) + 1
        what = f"{where}There is something in it that is not text."
        found.append(_error(what, "A guide has text files only; remove it.", line))
    if redact(content) != content:
        lines = enumerate(content.split("\n"), start=1)
        line = next((number for number, each in lines if redact(each) != each), 0)
        what = f"{where}There is a secret in it."
        found.append(_error(what, "Remove it, and say where to get it instead.", line))
    return [*found, *dangers(content, path)]


def _shown(text: str) -> str:
    """A foreign word in a message: short, and with nothing in it that could not be seen."""
    return "".join(
        letter if unicodedata.category(letter)[0] != "C" else "\ufffd" for letter in text[:80]
    )


def _shortened(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The worst first, and not more than anybody reads."""
    found = sorted(findings, key=lambda each: each.severity is Severity.WARNING)
    if len(found) <= _MOST_FINDINGS:
        return tuple(found)
    more = Finding(
        message=f"There are {len(found) - _MOST_FINDINGS} findings more.",
        repair="Mend these first.",
        severity=found[_MOST_FINDINGS].severity,
    )
    return (*found[:_MOST_FINDINGS], more)
