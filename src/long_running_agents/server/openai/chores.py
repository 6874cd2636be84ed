"""Which requests are chores: titles, tags and the like, that front ends ask beside a chat."""

import re
from collections.abc import Mapping, Sequence

from long_running_agents.server.openai.said import Role, Said

_USER = (
    # Open WebUI: titles, tags, follow-ups, search queries, completions.
    re.compile(r"\A\s*### Task:\s"),
    # LibreChat.
    re.compile(r"\A\s*Provide a concise, 5-word-or-less title for the conversation"),
    re.compile(r"\A\s*Please generate a concise,? 5-word-or-less title", re.IGNORECASE),
    # opencode.
    re.compile(r"\A\s*Generate a title for this conversation:"),
)
_SYSTEM = (
    # aider.
    re.compile(
        r"\A\s*You are an expert software engineer that generates concise,[\s\\]+one-line Git"
    ),
    # opencode.
    re.compile(r"\A\s*You are a title generator\."),
    # LobeChat and others.
    re.compile(r"\A\s*You are a conversation summarizer\b"),
)


def is_chore(
    said: Sequence[Said], metadata: Mapping[str, object], *, tools: bool, stream: bool
) -> bool:
    """Whether a request is a chore, and not a part of a conversation.

    Args:
        said: What it says.
        metadata: What it says of itself.
        tools: Whether it brings tools: no chore does.
        stream: Whether the answer is wanted word by word.
    """
    if tools:
        return False
    if isinstance(metadata.get("task"), str):
        return True
    told = [each.text for each in said if each.role is Role.SYSTEM]
    if any(pattern.search(text) for text in told for pattern in _SYSTEM):
        return True
    users = [each.text for each in said if each.role is Role.USER]
    alone = len(users) == 1 and not stream
    return alone and any(pattern.search(users[0]) for pattern in _USER)


def words(said: Sequence[Said]) -> str:
    """All that a chore says beside its instructions, as one text."""
    return "\n\n".join(each.text for each in said if each.role in (Role.USER, Role.ASSISTANT))
