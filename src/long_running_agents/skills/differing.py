"""What two versions of a skill have different, as people read it."""

import json
from difflib import unified_diff

from long_running_agents.domain.skill import Kind, Version

_LONGEST = 20_000
"""Lines from which on two texts are only said to differ: comparing them would take minutes."""


def diff(old: Version, new: Version) -> str:
    """A unified diff of two versions; empty when they are equal.

    The first part is about what stands beside the source, such as limits and the description.
    """
    before, after = f"version {old.number}", f"version {new.number}"
    parts = [_compared(_header(old), _header(new), f"{before}: settings", f"{after}: settings")]
    old_texts, new_texts = _texts(old), _texts(new)
    paths = [*old_texts, *(path for path in new_texts if path not in old_texts)]
    parts += [
        _compared(
            old_texts.get(path, ""),
            new_texts.get(path, ""),
            f"{before}: {path}" if path in old_texts else "/dev/null",
            f"{after}: {path}" if path in new_texts else "/dev/null",
        )
        for path in paths
    ]
    return "".join(parts)


def _texts(version: Version) -> dict[str, str]:
    first = "SKILL.md" if version.kind is Kind.GUIDE else f"{version.name}.py"
    return {first: version.source} | {file.path: file.content for file in version.files}


def _header(version: Version) -> str:
    told = {
        "function": version.interface.function,
        "label": version.label,
        "description": version.interface.description,
        "timeout": version.limits.timeout,
        "memory": version.limits.memory,
        "safe mode": version.safe_mode,
        "allowed imports": sorted(version.allowed_imports),
        **{
            f"example {number}": [each.args, *([each.result] if each.checked else [])]
            for number, each in enumerate(version.examples, start=1)
        },
    }
    return "".join(
        f"{key}: {json.dumps(value, ensure_ascii=False, default=str)}\n"
        for key, value in told.items()
    )


def _compared(old: str, new: str, before: str, after: str) -> str:
    if old == new and "/dev/null" not in (before, after):
        return ""
    lines, others = old.split("\n"), new.split("\n")
    if max(len(lines), len(others)) > _LONGEST:
        return f"--- {before}\n+++ {after}\nThey differ, and are too long to be compared.\n"
    found = list(unified_diff(lines, others, before, after, lineterm=""))
    # A file without a line has no difference of its own, and yet came or went.
    return "".join(f"{line}\n" for line in found or [f"--- {before}", f"+++ {after}"])
