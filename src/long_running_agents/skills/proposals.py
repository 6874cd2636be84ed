"""Proposals: a draft is reviewed, compared with known skills, tried, and waits for an approval."""

import ast
import asyncio
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast
from zlib import crc32

from long_running_agents.domain.events import EventEnvelope
from long_running_agents.domain.skill import (
    Finding,
    Severity,
    SkillApproval,
    SkillCreator,
    SkillDraft,
    SkillExample,
    SkillKind,
    SkillLimits,
    SkillReview,
    SkillTrial,
    Version,
    digest_of,
    same,
)
from long_running_agents.errors import Denied, SkillRefused
from long_running_agents.skills import python_ast
from long_running_agents.skills import versions as skills_versions
from long_running_agents.skills.context import SkillContext
from long_running_agents.skills.guides import read_guide
from long_running_agents.skills.python_ast import Function
from long_running_agents.skills.review import review
from long_running_agents.skills.trial import SAMPLE, TrialCandidate
from long_running_agents.store import skills
from long_running_agents.store.database import Transaction

ALIKE = 0.8
"""From here on, one is a copy of the other."""

_WIDTH = 3
_PASSED_OVER = frozenset({"returns", "annotation", "type_comment", "ctx", "kind", "type_ignores"})


def fingerprint(source: str) -> frozenset[int]:
    """What a source is made of, without names, hints, comments and docstrings; of none, nothing."""
    tree, _ = python_ast.read(source)
    if tree is None:
        return frozenset()
    shared = _shared(tree)
    found: Counter[str] = Counter()
    for node in tree.body:
        prose = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not prose and not isinstance(node, ast.Import | ast.ImportFrom):
            # Short runs of neighbouring words.
            words = ["(", *_words(node, shared), ")"]
            runs = range(max(len(words) - _WIDTH + 1, 1))
            found.update(" ".join(words[place : place + _WIDTH]) for place in runs)
    # How often something is there counts, too: two sums are not one.
    return frozenset(
        crc32(f"{text}#{place}".encode("utf-8", "surrogatepass"))
        for text, count in found.items()
        for place in range(count)
    )


def alike(one: frozenset[int], other: frozenset[int]) -> float:
    """How much of two fingerprints is the same, from 0 to 1."""
    if not one or not other:
        return 0.0
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def _shared(tree: ast.Module) -> dict[str, str]:
    """What the names at the top of a source stand for."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            found.update({one.asname: one.name for one in node.names if one.asname})
        elif isinstance(node, ast.ImportFrom):
            found.update({one.asname or one.name: one.name for one in node.names})
        elif isinstance(node, Function | ast.ClassDef):
            found[node.name] = "own"
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found.update(dict.fromkeys(names, "constant"))
    return found


def _words(top: ast.AST, shared: dict[str, str]) -> list[str]:
    """A tree as words, with its own names numbered in their order."""
    words: list[str] = []
    names: list[int] = []
    bound: set[str] = set()
    waiting: list[object] = [top]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant):
            # A number of many digits takes long to write, and Python refuses.
            value = hex(node.value) if isinstance(node.value, int) else repr(node.value)
            words.append(f"{type(node.value).__name__}:{value}")
        elif not isinstance(node, ast.AST):
            words.append(str(node))
        else:
            if not isinstance(node, ast.Expr | ast.arguments | ast.Name):
                words.append(type(node).__name__)
            name, binds = _name_of(node) if node is not top else ("", False)
            if name:
                names.append(len(words))
                words.append(name)
                bound.update([name] if binds else [])
            waiting.extend(reversed(_parts(node)))
    numbers: dict[str, str] = {}
    for place in names:
        name = words[place]
        known = numbers.setdefault(name, f"v{len(numbers)}") if name in bound else None
        words[place] = known or shared.get(name, name)
    return words


def _name_of(node: ast.AST) -> tuple[str, bool]:
    """The name that a node has, if any, and whether it binds that."""
    match node:
        case ast.Name(id=name):
            return name, isinstance(node.ctx, ast.Store)
        case ast.arg(arg=name) | ast.ClassDef(name=name):
            return name, True
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name, True
        case ast.keyword(arg=str(name)):
            return name, False
        case _:
            return "", False


def _parts(node: ast.AST) -> list[object]:
    """What a node consists of, without what does not count."""
    found: list[object] = []
    for field in node._fields:
        if field in _PASSED_OVER:
            continue
        value: object = getattr(node, field, None)
        if isinstance(value, list):
            told = isinstance(node, ast.ClassDef | Function) and ast.get_docstring(node) is not None
            parts = cast("list[object]", value)
            found.extend(parts[1:] if told and field == "body" else parts)
        elif isinstance(value, ast.AST) or (value is not None and field == "attr"):
            found.append(value)
    return found


_SHORTEST = 5
"""Letters from which on a single one of them is easily overlooked."""

_ALIKE = str.maketrans({"0": "o", "1": "l", "-": None, "_": None})
_DOUBLED = re.compile(r"(.)\1+")
_WORDS = re.compile(r"[-_]+")


def confusable(name: str, known: Iterable[str]) -> str | None:
    """The known name that this one looks like; None when there is none.

    A name that is known itself looks like no other. These look alike: names that differ in ``0``
    and ``o``, ``1`` and ``l``, dashes and underscores; and, from five letters on, in a doubled
    letter, two letters that changed places, one letter too many or too few, or another letter in
    a word of at least five. So ``serach_docs`` looks like ``search_docs``, while ``read_csv`` and
    ``read_tsv``, or ``parse_v1`` and ``parse_v2``, are told apart by a word that says it.
    """
    others = list(known)
    if name in others:
        return None
    return next((other for other in others if _alike(_plain(name), _plain(other))), None)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name[:256]).casefold()


def _alike(one: str, other: str) -> bool:
    drawn, drawn_other = one.translate(_ALIKE), other.translate(_ALIKE)
    if drawn == drawn_other:
        return True
    if min(len(drawn), len(drawn_other)) < _SHORTEST:
        return False
    if _DOUBLED.sub(r"\1", drawn) == _DOUBLED.sub(r"\1", drawn_other):
        return True
    left, right = _difference(_WORDS.sub("", one), _WORDS.sub("", other))
    swapped = len(left) == len("ab") and left == right[::-1]
    # page1 and page10 are two pages.
    one_more = len(left + right) == 1 and not (left + right).isdigit()
    return swapped or one_more or _replaced(one, other)


def _difference(one: str, other: str) -> tuple[str, str]:
    """What is left of both without the beginning and the end that they share."""
    begin = 0
    while begin < min(len(one), len(other)) and one[begin] == other[begin]:
        begin += 1
    one, other = one[begin:], other[begin:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return one, other


def _replaced(one: str, other: str) -> bool:
    words, others = _WORDS.split(one), _WORDS.split(other)
    pairs = [pair for pair in zip(words, others, strict=False) if pair[0] != pair[1]]
    if len(words) != len(others) or len(pairs) != 1 or len(pairs[0][0]) < _SHORTEST:
        return False
    left, right = _difference(*pairs[0])
    return len(left) == len(right) == 1 and not (left.isdigit() and right.isdigit())


_TOLD = 12
"""Findings that an error tells."""
_TRUSTED = frozenset({SkillCreator.PERSON, SkillCreator.LIBRARY})
"""Whose word weighs more than an earlier no."""


class SkillProposals:
    """Takes drafts for one owner."""

    def __init__(self, context: SkillContext, owner: str) -> None:
        self._context = context
        self._owner = owner

    async def examine(self, draft: SkillDraft) -> SkillReview:
        """Review a draft; nothing is run, nothing is kept."""
        found = await asyncio.to_thread(self._review, draft)
        if not found.name or found.errors:
            return found
        known = await self._context.database.read(lambda tx: skills.every(tx, self._owner))
        findings = [*found.findings]
        others = {each.name for each in known if each.name != found.name}
        if any(each.name == found.name and each.kind is not draft.kind for each in known):
            message = f"{found.name!r} is a skill of another kind already."
            findings.append(Finding(message, "Choose another name."))
        if twin := confusable(found.name, others | self._context.reserved):
            message = f"{found.name!r} looks like {twin!r}."
            findings.append(_warning(message, "Choose another name."))
        if draft.kind is SkillKind.FUNCTION:
            findings += await self._alike(draft, found.name)
        if not draft.safe_mode:
            message = "Its safe mode is off: it may import whatever the sandbox has."
            findings.append(_warning(message, "Look at its imports."))
        return replace(found, findings=tuple(findings))

    async def check(self, draft: SkillDraft) -> SkillReview:
        """Review a draft, and refuse it if the review found fault with it."""
        examined = await self.examine(draft)
        if examined.errors or examined.interface is None:
            raise _refused(examined)
        return examined

    async def trial(self, draft: SkillDraft, examined: SkillReview) -> SkillTrial:
        """Try a draft that passed its review."""
        if examined.interface is None or draft.kind is SkillKind.GUIDE:
            return SkillTrial(at=self._context.clock.now(), passed=not examined.errors)
        candidate = TrialCandidate(
            source=draft.source,
            interface=examined.interface,
            limits=self._limits(draft),
            examples=_told(examined.examples) or examined.examples,
        )
        return await self._context.trials.of(candidate, SAMPLE)

    async def propose(self, draft: SkillDraft) -> Version:
        """Review, try and keep a draft; the same again is the same version.

        Raises:
            SkillRefused: The review or the trial found fault with it.
            Denied: A person has said no to this very version.
            SandboxUnavailable: Nothing can be tried here.
        """
        examined = await self.check(draft)
        known = await self._known(draft, examined.name)
        if known is not None:
            return known
        trial = await self.trial(draft, examined)
        if not trial.passed:
            raise SkillRefused(
                f"{examined.name} did not pass its trial: {trial.reason}.",
                hint="Mend the code, or give examples of calls that work.",
            )
        version, news = await self._context.database.write(
            lambda tx: self._keep(tx, draft, examined, trial, self._context.clock.now())
        )
        self._context.announce(news)
        return version

    def _review(self, draft: SkillDraft) -> SkillReview:
        reserved, redact = self._context.reserved, self._context.redact
        if draft.kind is SkillKind.GUIDE:
            return read_guide(draft.source, draft.name, draft.files, redact=redact)
        imports = self._imports(draft)
        found = review(draft, allowed_imports=imports, reserved=reserved, redact=redact)
        if not found.name.startswith(self._context.prefixes):
            return found
        message = f"{found.name!r} begins like the tools of a foreign server."
        finding = Finding(message, "Choose another name.")
        return replace(found, findings=(*found.findings, finding))

    def _limits(self, draft: SkillDraft) -> SkillLimits:
        usual = self._context.settings
        return draft.limits or SkillLimits(timeout=usual.timeout, memory=usual.memory)

    def _imports(self, draft: SkillDraft) -> Sequence[str]:
        # Whoever writes a draft may wish for less than the settings allow, and never for more,
        # unless a person wrote it.
        usual = self._context.settings.allowed_imports
        wished = draft.allowed_imports
        if wished is None:
            return usual
        if draft.brought.origin in _TRUSTED:
            return wished
        return [name for name in wished if name in usual]

    async def _alike(self, draft: SkillDraft, name: str) -> list[Finding]:
        """Skills in use that do the same under another name."""
        index = await self._context.indexes.of(self._owner)
        others = [each for each in index.of(SkillKind.FUNCTION) if each.name != name]
        close = await asyncio.to_thread(self._close, draft.source, others)
        return [
            _warning(
                f"It is nearly the same as the skill {other!r}.",
                f"Use {other}, or make this its next version.",
            )
            for other in close
        ]

    def _close(self, source: str, others: Sequence[Version]) -> list[str]:
        mine = fingerprint(source)
        known = self._context.fingerprints
        for other in others:
            if other.digest not in known:
                known[other.digest] = fingerprint(other.source)
        return [other.name for other in others if alike(mine, known[other.digest]) >= ALIKE]

    def _same(self, draft: SkillDraft, versions: Sequence[Version]) -> Version | None:
        imports, limits = self._imports(draft), self._limits(draft)
        return next((each for each in versions if same(each, draft, limits, imports)), None)

    async def _known(self, draft: SkillDraft, name: str) -> Version | None:
        found = await self._context.database.read(lambda tx: skills.versions(tx, self._owner, name))
        known = self._same(draft, found)
        if known is None or known.standing is not SkillApproval.REJECTED:
            return known
        if draft.brought.origin not in _TRUSTED:
            raise Denied(
                f"{name} was rejected as it is (version {known.number}).",
                hint="Change it, or do without.",
            )
        now = self._context.clock.now()
        await self._context.database.write(
            lambda tx: skills.decide(tx, known, SkillApproval.PROPOSED, by="", now=now)
        )
        return replace(known, standing=SkillApproval.PROPOSED, decided_by="", decided_at=now)

    def _keep(
        self,
        tx: Transaction,
        draft: SkillDraft,
        examined: SkillReview,
        trial: SkillTrial,
        now: datetime,
    ) -> tuple[Version, list[EventEnvelope]]:
        assert examined.interface is not None, "looked at before"  # noqa: S101 - for the type checker
        before = skills.versions(tx, self._owner, examined.name)
        if (known := self._same(draft, before)) is not None:
            # Somebody else has proposed the same while this was tried.
            return known, []
        version = Version(
            owner=self._owner,
            name=examined.name,
            number=before[0].number + 1 if before else 1,
            kind=draft.kind,
            digest=digest_of(draft.source, draft.files),
            source=draft.source,
            interface=examined.interface,
            limits=self._limits(draft),
            safe_mode=draft.safe_mode,
            allowed_imports=tuple(self._imports(draft)) if draft.safe_mode else (),
            examples=_told(examined.examples),
            files=draft.files,
            label=draft.label,
            brought=draft.brought,
            created_at=now,
            warnings=examined.warnings,
            trial=trial,
            standing=SkillApproval.PROPOSED,
        )
        skills.put(tx, version)
        skills_versions.noted(tx, "propose", version, draft.brought.origin, now)
        return version, skills_versions.tell(tx, draft.brought, version, "proposed", "", now)


def _told(examples: Sequence[SkillExample]) -> tuple[SkillExample, ...]:
    """Those that somebody gave, who knows better than the signature what makes sense."""
    return tuple(each for each in examples if not each.derived)


def _warning(message: str, repair: str) -> Finding:
    return Finding(message, repair, severity=Severity.WARNING)


def _refused(examined: SkillReview) -> SkillRefused:
    told = "\n".join(f"- {finding}" for finding in examined.errors[:_TOLD])
    more = len(examined.errors) - _TOLD
    rest = f"\n- and {more} more" if more > 0 else ""
    name = examined.name or "This"
    return SkillRefused(f"{name} cannot be a skill:\n{told}{rest}")
