"""Pinned rules: what a person said once and wants to hold in every request from then on."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import NewType

from long_running_agents.domain.budget import estimate_tokens
from long_running_agents.domain.events import RuleChanged
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.policy import PolicyRule, Ruling
from long_running_agents.domain.session import MINE
from long_running_agents.errors import UsageError

RuleId = NewType("RuleId", int)

MOST_TOKENS = 800
"""What all rules that a session sees may take of a request."""
_LONGEST = 400
_MOST = 5


class RuleScope(StrEnum):
    """Where a rule holds."""

    SESSION = "session"
    OWNER = "owner"
    """In all of the owner's sessions."""


class RuleState(StrEnum):
    """Where a rule stands."""

    SUGGESTED = "suggested"
    """A person has to say whether it is one."""
    ACTIVE = "active"
    LIFTED = "lifted"
    DISMISSED = "dismissed"
    """It was suggested, and a person said no: it is not suggested again."""


class RuleSource(StrEnum):
    """How a rule came about."""

    PERSON = "person"
    """A person pinned it."""
    QUOTATION = "quotation"
    """The model pinned a person's own words."""
    DETECTOR = "detector"
    """A message sounded like one."""
    IMPORT = "import"
    """It came with an imported session."""


MAY_BECOME = {
    RuleState.SUGGESTED: (RuleState.ACTIVE, RuleState.DISMISSED),
    RuleState.ACTIVE: (RuleState.LIFTED,),
}
"""The only legal transitions; a person makes each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedRule:
    """Something that holds from now on, in the words it was said in."""

    id: RuleId
    text: str
    scope: RuleScope
    state: RuleState
    source: RuleSource
    session_id: SessionId | None
    """The session it holds in; None for all of the owner's."""
    turn_id: TurnId | None
    """The turn it was said in; None when it was written down as a rule at once."""
    created_at: datetime
    pinned_at: datetime | None = None
    """When it became active."""
    ended_at: datetime | None = None
    """When it was lifted or dismissed."""
    enforced: tuple[PolicyRule, ...] = ()
    """What the gate enforces of it, whatever the model does."""
    owner: str = MINE

    @property
    def tokens(self) -> int:
        """What it takes of a request, about."""
        return estimate_tokens(len(self.text))

    @property
    def offer(self) -> tuple[PolicyRule, ...]:
        """What the gate could enforce of it, and does not yet."""
        return () if self.enforced or self.state is not RuleState.ACTIVE else as_policy(self.text)


def new_rule(
    owner: str,
    session_id: SessionId | None,
    text: str,
    source: RuleSource,
    now: datetime,
    turn_id: TurnId | None = None,
) -> PinnedRule:
    """A suggestion that has no number yet, for one session or for all."""
    return PinnedRule(
        id=RuleId(0),
        text=text.strip(),
        scope=RuleScope.OWNER if session_id is None else RuleScope.SESSION,
        state=RuleState.SUGGESTED,
        source=source,
        session_id=session_id,
        turn_id=turn_id,
        created_at=now,
        owner=owner,
    )


def news(rule: PinnedRule) -> RuleChanged:
    """The event that tells where a rule stands now."""
    return RuleChanged(
        rule_id=rule.id,
        text=rule.text,
        scope=rule.scope,
        state=rule.state,
        source=rule.source,
        enforced=bool(rule.enforced),
    )


def check_room(pinned: Sequence[PinnedRule], text: str) -> None:
    """See that one more rule fits beside those that are pinned; else a person has to choose."""
    used, needed = sum(rule.tokens for rule in pinned), estimate_tokens(len(text))
    if used + needed <= MOST_TOKENS:
        return
    listed = sorted(pinned, key=lambda rule: rule.tokens, reverse=True)
    shown = "; ".join(f"#{rule.id} takes {rule.tokens} ({rule.text[:40]!r})" for rule in listed[:5])
    raise UsageError(
        f"This rule takes about {needed} tokens, and {used} of the {MOST_TOKENS} that all pinned"
        f" rules may take are used{f': {shown}' if shown else ''}.",
        hint="Nothing was dropped. Lift one of them ('lra rules lift NUMBER'), or say it shorter.",
    )


def folded(text: str) -> str:
    """A text by which the same rule is known again, however it is spaced and capitalised."""
    return " ".join(text.casefold().split()).rstrip(".!")


_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_ATTACHED = re.compile(r"(?:^|\n)Attached files:\n- .*\Z", re.DOTALL)
# A line that goes on with a small letter is part of the sentence before it.
_END = re.compile(
    r"(?<!e\.g\.)(?<!i\.e\.)(?<!\b[DM]r\.)(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9ÄÖÜ])"
    r"|\n\s*(?:[-*•]\s+|\d+[.)]\s+|(?=\n)|(?![\sa-zäöü]))"
)


def sentences(text: str) -> list[str]:
    """The sentences and lines that the author of a message says; no code, no quoted lines."""
    found = (part.strip(" \t\r\n-*•") for part in _END.split(own_words(text)))
    return [part for part in found if part]


def own_words(text: str) -> str:
    """What the author of a message says: without code, quoted lines and attached files."""
    own = _FENCE.sub("\n", _ATTACHED.sub("", text))
    lines = (line for line in own.split("\n") if not line.lstrip().startswith((">", "|")))
    return "\n".join(lines)


def quoted(text: str, said: str) -> bool:
    """Whether a text is a quotation of what was said: whole sentences, letter for letter.

    Only the spaces between words may differ, and the last stop may be missing. Part of a sentence
    is none: of "never do X" the rest says the opposite.
    """
    wanted, told = _plain(text), [" ".join(part.split()) for part in sentences(said)]
    return bool(wanted) and any(
        _plain(" ".join(told[start:end])) == wanted
        for start in range(len(told))
        for end in range(start + 1, min(start + _MOST, len(told)) + 1)
    )


def _plain(text: str) -> str:
    return " ".join(text.split()).strip("-*• ").rstrip(".! ")


# Where an order begins: the sentence, a part of it, or what makes one of a wish.
_LEAD = (
    r"(?:^|[,:;(\u2013\u2014-]\s*|\b(?:and|but|or|so|then|also|please|to|must|should|shall|may|can|will"
    r"|today on|now on|that you|remember)\s+)"
)
_RULE = re.compile(
    rf"{_LEAD}(?:never|always)\s+(?!mind\b|know\b|been\b|had\b|have\s+(?:I|we)\b|ever\b)\w"
    r"|\bfrom (?:now|today|here) on\b|\bgoing forward\b|\bhenceforth\b"
    r"|\bmust(?:\s+not|n't|\s+never|\s+always)\b|\bunder no circumstances\b"
    r"|\b(?:do not|don't) ever\b|\bin no case\b"
    r"|\b(?:do not|don't)\b.*\b(?:without (?:asking|my)|unless I|until I say|any ?more)\b"
    r"|\bat most\b|\bno more than\b|\bno other\b.*\bmay\b"
    r"|\b(?:ask|tell|check with|warn) me (?:first|before)\b"
    r"|\bwithout (?:asking me|my (?:ok|okay|consent|approval|permission))\b"
    r"|^(?:\w+ )?rules?(?: \d+| for [\w ]+)?\s*:|\bkeep in mind\b.*:",
    re.IGNORECASE,
)
_SOMEBODY = re.compile(
    r"\b(?:I|we|he|she|it|they|this|that|there|who)(?:'\w+)?\s+(?:\w+\s+)?(?:never|always)\b",
    re.IGNORECASE,
)


def suggest(text: str) -> list[str]:
    """The sentences of a person's message that sound like rules, each once; a few at most."""
    found = [
        sentence
        for sentence in sentences(text)
        if len(sentence) <= _LONGEST
        and not sentence.endswith("?")
        and _RULE.search(_SOMEBODY.sub("", _straight(sentence)))
    ]
    return list(dict.fromkeys(found))[:_MOST]


def _straight(text: str) -> str:
    return text.replace("\u2019", "'")


_ASKING = re.compile(
    r"\b(?:ask|check with|tell|warn) me (?:first|before)\b|\bwithout (?:asking|my )", re.IGNORECASE
)
_FORBIDDING = re.compile(
    r"\b(?:never|(?:do|must|may|should|can) ?not|(?:do|must|should|ca)n't"
    r"|under no circumstances)\b",
    re.IGNORECASE,
)
# A rule about all but one thing cannot be said with a pattern for that one thing.
_EXCEPTION = re.compile(
    r"\b(?:outside|except|excepting|other than|others?|only|unless|but|besides|instead|more than"
    r"|less than|at most|until|when|if)\b",
    re.IGNORECASE,
)
_CHANGING = re.compile(
    r"\b(?:chang|edit|(?:over)?writ|delet|(?:re)?mov|modif|renam)", re.IGNORECASE
)
# A whole address names more than its host, and no policy can tell pages of one host apart.
_HOST = re.compile(
    r"https?://([a-z0-9.-]*[a-z0-9])/?(?![\w/?:#-]|\.\w)"
    r"|(?<![\w@/.-])((?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|app|ai|edu|gov|info|eu|uk|de|ch|at|fr|it"
    r"|es|nl))\b(?![\w@/-]|\.\w)",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"(?<![\w@:/.])((?:[\w.-]+/)+[\w.*-]*|\.env\b|[\w-]+\.(?:py|toml|ya?ml|json|md|txt|csv|ini|cfg"
    r"|conf|lock|sql|db|sqlite|xlsx|docx|pdf|log|sh|key|pem))(?![\w/@])"
)
_TOOL = re.compile(
    r"(?<![\w`])`?(?!(?:the|this|that|any|a|another|every|other|new)\b)([a-z][a-z0-9_]+)`? tool\b"
)
_PROGRAM = re.compile(
    r"`([a-z][a-z0-9._-]*)`"
    r"|\b((?:git|docker|npm|pip|uv|cargo|apt) (?:push|commit|merge|rebase|reset|pull|tag|install"
    r"|publish|run|add))\b"
    r"|\b(?:run|use|call|running|using|calling) (curl|wget|rm|sudo|ssh|scp|docker|kubectl|psql)\b"
)
_CHANGING_TOOLS = ("write_file", "edit_file", "shell")


def as_policy(text: str) -> tuple[PolicyRule, ...]:
    """What of a rule the gate can check: a tool, program, file or host that it forbids or asks of.

    Nothing for a rule with an exception, and nothing that a policy cannot say, such as an amount
    or whom a mail is for.
    """
    reason, text = f"a pinned rule says: {text}", _straight(text)
    asks = _ASKING.search(text) is not None
    if not (asks or _FORBIDDING.search(text)) or _EXCEPTION.search(_ASKING.sub("", text)):
        return ()
    tools = _CHANGING_TOOLS if _CHANGING.search(text) else ("*",)
    hosts = [(match[1] or match[2]).lower() for match in _HOST.finditer(text)]
    paths = [match[1].rstrip("./") for match in _PATH.finditer(_HOST.sub("", text))]
    ruling = Ruling.ASK if asks else Ruling.DENY
    rule = partial(PolicyRule, decision=ruling, reason=reason)
    found = [rule(tool=match[1]) for match in _TOOL.finditer(text)]
    found = found or [rule(program="".join(each)) for each in _PROGRAM.findall(text)]
    found += [rule(host=each) for host in hosts for each in (host, f"*.{host}")]
    found += [
        # A command that names a file may only read it.
        rule(tool=tool, path=each, decision=ruling if tool != "shell" else Ruling.ASK)
        for path in paths
        for tool in tools
        for each in ((path,) if "." in path else (path, f"{path}/*"))
    ]
    return tuple(found)
