"""Guides: folders with a SKILL.md, as the Agent Skills convention has it, and their dangers."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, cast

from long_running_agents.domain.redaction import Redactor
from long_running_agents.domain.skill import (
    GUIDE_NAME,
    Finding,
    Interface,
    Severity,
    SkillFile,
    SkillReview,
    at_most,
)
from long_running_agents.domain.workspace import is_sensitive

_MOST = 3
"""How often one danger is told of one file."""
_ANYWHERE = 1 << 30

_SHELL = (
    r"(?:sudo\s{1,9}(?:-\S{1,9}\s{1,9})?)?(?:/usr)?(?:/bin/)?(?:env\s{1,9})?"
    r"(?:(?:ba|z|da|k|fi|c|tc)?sh|python[\d.]{0,5}|perl|ruby|node|php|osascript|pwsh|powershell)\b"
)
_LOAD = r"\b(?:curl|wget|aria2c|lwp-download|invoke-webrequest|iwr)\b"
_POWERSHELL_LOAD = (
    r"\b(?:iwr|irm|curl|wget|invoke-webrequest|invoke-restmethod|downloadstring|downloadfile)\b"
)
_UNPACK = (
    r"\bbase64\s{1,9}(?:-d|-di|--decode)\b|\bopenssl\b[^\n]{0,40}\s-d\b|\bxxd\s{1,9}-r|"
    r"\bfrombase64string\b|\bcertutil\b[^\n]{0,40}-decode"
)
_DECODE = (
    r"\b(?:b64decode|b32decode|b85decode|a85decode|unhexlify|fromhex|atob|rot_?13)\b|"
    r"\b(?:zlib\.decompress|marshal\.loads|pickle\.loads)\b|Buffer\.from\([^\n]{0,80}base64"
)
_EXECUTE = r"(?<![\w.])(?:exec|eval|compile|__import__)\s{0,9}\(|\bos\.system\b|\bnew\s+Function\b"
_USER = r"\b(?:users?|persons?|humans?|people|anyone|anybody|them|operators?|owners?)\b"
_TELL = (
    r"(?:tell|mention|inform|notify|alert|show|reveal|disclos|report|warn|ask|confirm|explain)"
    r"(?:e|ing|ation)?"
)
_NOT = r"\b(?:do\s{1,9}not|don['\u2019]?t|never|without|avoid|must\s{1,9}not|should\s{1,9}not)"
_SHORT = (
    r"bit\.ly|tinyurl\.com|t\.co|goo\.gl|is\.gd|v\.gd|ow\.ly|cutt\.ly|rebrand\.ly|rb\.gy|"
    r"shorturl\.at|t\.ly|buff\.ly|s\.id|tiny\.cc|lnkd\.in"
)
_PASTE = (
    r"pastebin\.com|paste\.ee|hastebin\.com|ghostbin\.\w+|rentry\.(?:co|org)|dpaste\.(?:com|org)|"
    r"termbin\.com|transfer\.sh|gist\.github(?:usercontent)?\.com|file\.io|0x0\.st|glot\.io|"
    r"controlc\.com|ix\.io|sprunge\.us|privatebin\.\w+|webhook\.site|requestbin\.\w+|"
    r"[\w-]+\.pipedream\.net|[\w.-]{1,80}ngrok[\w.-]{1,20}|[\w-]{1,80}\.trycloudflare\.com|"
    r"discord(?:app)?\.com/api/webhooks|api\.telegram\.org/bot"
)
_DRAWN_ALIKE = (
    "\u0400-\u052f\u0531-\u058f\u13a0-\u13ff\uab70-\uabbf\uff21-\uff5a\U0001d400-\U0001d7ff"
)
_GREEK_ALIKE = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονυρ"  # noqa: RUF001 - these are what is looked for


class _Danger:
    """Words that together are worth a question, so many lines after the first of them."""

    def __init__(self, what: str, repair: str, *signs: str, within: int = 0) -> None:
        self.what, self.repair, self.signs, self.within = what, repair, signs, within


@cache
def _compiled(sign: str) -> re.Pattern[str]:
    # When the first guide is read: few programs that load this read any.
    return re.compile(sign, re.IGNORECASE)


_SAY = "Put the commands themselves into the guide, or a script beside it."
_LEAVE = "Leave it out, unless you know why it is there."
_NAME_IT = "Name the page itself, with its own address."

_DANGERS = (
    _Danger("It loads something and runs it at once.", _SAY, _LOAD,
            rf"\|&?\s{{0,9}}{_SHELL}(?!\s{{1,9}}-m\s{{1,9}}json\.tool)"),
    _Danger("It loads something and runs it at once.", _SAY,
            rf"(?:{_SHELL}|\beval\b|\bsource\b|\bexec\b|(?:^|\s)\.\s)",
            r"(?:<\(|\$\(|`)\s{0,9}(?:curl|wget)\b"),
    _Danger("It loads a file and then runs one.", _SAY, _LOAD,
            rf"(?m)(?:^|&&|;|`)[\s$>]{{0,9}}(?:{_SHELL}\s{{1,9}}\S|chmod\s{{1,9}}\S{{0,9}}[x7]|\./\w|"
            r"(?:source|start|open)\s)", within=3),
    _Danger("It loads something and runs it at once.", _SAY, r"\b(?:iex|invoke-expression)\b",
            _POWERSHELL_LOAD),
    _Danger("It runs what an address answers.", _SAY, _EXECUTE,
            r"\b(?:requests\.(?:get|post)|urlopen|httpx\.get|urllib\.request)\b|\bfetch\("),
    _Danger("It uses a program of the system to load something.", _SAY,
            r"\bmshta\b|\bcertutil\b[^\n]{0,40}-urlcache|\bbitsadmin\b|\bregsvr32\b|\brundll32\b|"
            r"https?://\S{1,200}\.(?:exe|msi|dmg|pkg|scr|bat|ps1|appimage|apk)\b"),
    _Danger("It installs a package from an address of its own.",
            "Name the package as the registry has it.",
            r"\b(?:pip3?|pipx|uv|npm|yarn|gem|cargo|go)\b[^\n]{0,40}\binstall\b|\bnpx\b|\buvx\b",
            r"git\+|--(?:extra-)?index-url|--registry|\bhttps?://\S{1,200}\.(?:whl|tgz|tar\.gz|zip)"),
    _Danger("It unpacks a command that nobody can read, and runs it.", _SAY, _UNPACK,
            rf"\|\s{{0,9}}{_SHELL}|\beval\b|\biex\b|\$\("),
    _Danger("It unpacks code that nobody can read, and runs it.", _SAY, _DECODE, _EXECUTE,
            within=_ANYWHERE),
    _Danger("It has a command that nobody can read.", _SAY,
            r"\b(?:powershell|pwsh)\b[^\n]{0,80}\s-e(?:nc|ncodedcommand)?\s"),
    _Danger("It has a long text that nobody can read.", "Put in what it means, as plain text.",
            r"[A-Za-z0-9+/]{200}"),
    _Danger("It has an archive with a password, which no scanner can look into.",
            "Put the files themselves beside the guide.",
            r"\bpass(?:word|phrase|code)?s?\b", r"\b(?:zip|unzip|rar|unrar|7z|7-?zip|archive)\b"),
    _Danger("It has an archive with a password, which no scanner can look into.",
            "Put the files themselves beside the guide.",
            r"\bunzip\b[^\n]{0,80}\s-P|\b7z[az]?\b[^\n]{0,80}\s-p\S"),
    _Danger("It asks a person to run something in a terminal.", _LEAVE,
            r"\b(?:paste|copy|type|enter|run|execute)\b[^\n]{0,80}\b(?:in|into|to)\s{1,9}"
            r"(?:your|a|the|their)\s{1,9}(?:\w{1,20}\s{1,9})?"
            r"(?:terminal|shell|console|command\s(?:prompt|line)|powershell|run\sdialog)\b"),
    _Danger("It wants something installed before it works.", _LEAVE,
            r"\b(?:prerequisites?|pre-requisites?|required\s{1,9}(?:driver|agent|tool|utility))\b",
            r"\b(?:download|installer|execute|terminal|curl|wget)\b|https?://|\.zip\b",
            within=6),
    _Danger("It switches off what protects a system.", _LEAVE,
            r"\bxattr\b[^\n]{0,40}quarantine|\bspctl\b|\bset-mppreference\b|"
            r"-executionpolicy\s{1,9}bypass|\bsetenforce\s{1,9}0"),
    _Danger("It reads keys.", _LEAVE,
            r"\.ssh\b|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|\.gnupg\b|\.aws\b|\.kube\b|\.netrc\b|"
            r"\.pgpass\b|\.npmrc\b|\.pypirc\b|\.git-credentials\b|/etc/(?:passwd|shadow)\b|"
            r"\bfind-generic-password\b|\bwallet\.dat\b|\bLogin Data\b|\.bash_history\b"),
    _Danger("It reads settings or the environment, where keys are kept.", _LEAVE,
            r"(?<![\w\])])\.env\b(?!\.(?:example|sample|template))|\bprintenv\b|\bLRA_\w{1,40}|"
            r"\bconfig\.toml\b|\blra\.db\b|\bos\.environb?\b|\bgetenv\b|\bprocess\.env\b|"
            r"/proc/(?:self|\d{1,7})/environ|(?m:^|[;&|`$(])\s{0,9}env\s{0,9}(?:\||>|$)"),
    _Danger("It opens a connection of its own.", _LEAVE,
            r"/dev/(?:tcp|udp)/|\b(?:nc|ncat|netcat)\b\s{1,9}-|\bsocat\b|\bmkfifo\b"),
    _Danger("It makes something stay, or changes what you are told in later turns.", _LEAVE,
            r"\bcrontab\b|\bauthorized_keys\b|\.(?:bashrc|zshrc|profile|bash_profile)\b|"
            r"\blaunchctl\b|\bsystemctl\b[^\n]{0,40}\benable\b|"
            r"\b(?:SOUL|USER|AGENTS|CLAUDE|MEMORY)\.md\b|\bcron\.json\b"),
    _Danger("It deletes everything.", _LEAVE,
            r"\brm\s{1,9}-\w{0,9}r\w{0,9}\s{1,9}(?:-\S{1,20}\s{1,9}){0,3}"
            r"['\"]?(?:/|~|\$HOME|\$\{HOME)"),
    _Danger("It keeps something from the user.", _LEAVE,
            rf"{_NOT}\s{{1,9}}(?:ever\s{{1,9}})?{_TELL}\b[^.\n]{{0,20}}\s{{1,9}}"
            rf"(?:[^.\n]{{0,60}}?\s)?{_USER}"),
    _Danger("It keeps something from the user.", _LEAVE,
            r"\b(?:secretly|covertly|surreptitiously|stealthily)\b|\bsilently\s{1,9}(?:send|upload|"
            r"run|execute|install|download|post|copy|forward|delete|append|add|include)\b|"
            rf"\b(?:hide|hidden|conceal|secret)\b[^.\n]{{0,60}}\bfrom\s{{1,9}}(?:the\s{{1,9}})?{_USER}|"
            rf"{_USER}\s{{1,9}}(?:must|should|need|does|do|will)\s{{0,9}}(?:not|n.t)\s{{1,9}}"
            r"(?:know|see|notice|be\s{1,9}(?:told|informed|asked))|"
            r"\bkeep\s{1,9}(?:this|it|that)\s{1,9}(?:a\s{1,9})?(?:secret|hidden|quiet)"),
    _Danger("It asks to ignore instructions or rules.", _LEAVE,
            r"(?<!not\s)(?<!n.t\s)\b(?:ignore|disregard|forget|override|bypass|circumvent)\b"
            r"\s{1,9}(?:[^.\n]{0,40}\s)?"
            r"(?:instructions?|rules?|guidelines?|polic(?:y|ies)|safety|prompts?|restrictions?|"
            r"approvals?|guardrails?|safeguards?)\b|\b(?:jailbreak|developer\s{1,9}mode|DAN\s"
            r"{1,9}mode)\b|<\|\w{1,20}\|>|</?(?:system|assistant)>|\byou\s{1,9}are\s{1,9}now\b"),
    _Danger("It claims a permission, or does without one.", _LEAVE,
            r"\b(?:users?|person|owner)\s{1,9}(?:has|have)\s{1,9}(?:already\s{1,9})?(?:pre-?)?"
            r"(?:approved|authori[sz]ed|agreed|consented|granted)\b|\bauto-?approve|"
            r"--dangerously-\w|--yolo\b|\bwithout\s{1,9}(?:any\s{1,9})?(?:asking|approval|"
            r"confirmation|permission|consent)\b"),
    _Danger("It has characters that cannot be seen, or that turn the direction of the text.",
            "Remove them: what a person reads must be what the model reads.",
            "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
            "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ue000-\uf8ff"
            "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
            "|[\u200c\u200d\ufe0e\ufe0f]{2}|(?<=[!-~])[\u200c\u200d](?=[!-~])"),
    _Danger("It has a word of letters that only look like Latin ones.",
            "Write the word with the letters of one alphabet.",
            rf"[a-z][{_DRAWN_ALIKE}{_GREEK_ALIKE}]|[{_DRAWN_ALIKE}{_GREEK_ALIKE}][a-z]"),
    _Danger("It has a link to a bare number instead of a name.", _NAME_IT,
            r"\b(?:https?|ftp)://(?:[^\s/@]{1,80}@)?(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]{2,45}\]|"
            r"0x[0-9a-f]{6,8}|\d{8,10})(?![\w.-])"),
    _Danger("It has a link that hides where it leads.", _NAME_IT,
            rf"(?<![\w.-])(?:{_SHORT})/\w|\bhttps?://[^\s/]{{0,80}}(?:@|xn--)|"
            r"\bhttps?://[^\s/\x00-\x7f]|\bhttps?://[\w.-]{1,80}[^\s\x00-\x7f]"),
    _Danger("It has a link to a place where anybody can put or collect anything.", _NAME_IT,
            rf"(?<![\w.-])(?:{_PASTE})"),
)  # fmt: skip


def dangers(text: str, path: str = "") -> list[Finding]:
    """What in a text a person has to look at."""
    # A command may go on in the next line; of the same length, so that the places stay.
    joined = text.replace("\\\n", "  ")
    breaks = [place.start() for place in re.finditer("\n", joined)]
    lines = [place.start() for place in re.finditer("\n", text)]
    found: dict[tuple[int, str], Finding] = {}
    for danger in _DANGERS:
        for place in islice(_places(danger, joined, breaks), _MOST):
            line = bisect_left(lines, place) + 1
            what = f"{path}: {danger.what}" if path else danger.what
            told = Finding(what, danger.repair, line, severity=Severity.WARNING)
            found.setdefault((line, danger.what), told)
    return [found[key] for key in sorted(found)]


def _places(danger: _Danger, text: str, breaks: list[int]) -> Iterator[int]:
    """Where a danger begins, once in a line."""
    first, *others = map(_compiled, danger.signs)
    seen = [
        [bisect_left(breaks, place.start()) for place in sign.finditer(text)] for sign in others
    ]
    if not all(seen) and others:
        return
    last = -1
    for place in first.finditer(text):
        line = bisect_left(breaks, place.start())
        begin = 0 if danger.within == _ANYWHERE else line
        near = (
            bisect_right(rows, line + danger.within) > bisect_left(rows, begin) for rows in seen
        )
        if line != last and all(near):
            last = line
            yield place.start()


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

_HEAD = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_UNWRITTEN = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")
_EXPECTED = {
    "license": (str,),
    "compatibility": (str,),
    "metadata": (dict,),
    "allowed-tools": (str, list),
}


def read_guide(
    text: str, folder: str, files: Sequence[SkillFile], *, redact: Redactor
) -> SkillReview:
    """Read and check a guide; what is wrong with it is found, not raised."""
    if findings := _too_large(text, files):
        return _examined("", "", findings)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    head, body, findings = _divided(text)
    name, description = str(head.get("name", "")), str(head.get("description", "")).strip()
    if not findings:
        findings += [*_name_findings(head, folder), *_head_findings(head)]
        if not body.strip():
            findings.append(Finding("It has no instructions.", "Write them below the head."))
    findings += _path_findings(files)
    for path, content in [("", text), *((file.path, file.content) for file in files)]:
        findings += _content_findings(content, _shown(path), redact)
    return _examined(redact(name)[:256], redact(description)[:_LONGEST_DESCRIPTION], findings)


def _examined(name: str, description: str, findings: Sequence[Finding]) -> SkillReview:
    interface = Interface(function="", description=description, parameters={})
    worst_first = sorted(findings, key=lambda each: each.severity is Severity.WARNING)
    return SkillReview(name=name, findings=at_most(worst_first), interface=interface)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _too_large(text: str, files: Sequence[SkillFile]) -> list[Finding]:
    # Measured before anything is looked at, so that nothing large ever is.
    if len(files) > MOST_FILES:
        return [Finding(f"It has more than {MOST_FILES} files.", "Leave some out.")]
    if len(text) > LARGEST_TEXT or _size(text) > LARGEST_TEXT:
        repair = "Move parts of it into files below references/."
        return [Finding(f"Its SKILL.md has more than {LARGEST_TEXT} bytes.", repair)]
    if sum(_size(file.content) for file in files) + _size(text) > LARGEST_GUIDE:
        return [Finding(f"It has more than {LARGEST_GUIDE} bytes in all.", "Leave some files out.")]
    return []


def _divided(text: str) -> tuple[dict[str, Any], str, list[Finding]]:
    """The head as a table, the rest, and what is wrong with the head."""
    match = _HEAD.match(text)
    if match is None:
        repair = "Begin with a line ---, then name: and description:, then another line ---."
        return {}, text, [Finding("It has no head.", repair, 1)]
    head, body = match.group(1), text[match.end() :]
    if _size(head) > _LARGEST_HEAD:
        repair = "Keep what is long for the instructions."
        return {}, body, [Finding(f"Its head has more than {_LARGEST_HEAD} bytes.", repair, 1)]
    finding, table = read_head(head)
    return table, body, [finding] if finding else []


def read_head(head: str, deepest: int = _DEEPEST) -> tuple[Finding | None, dict[str, Any]]:
    """The head of a file, read only when it is nothing but plain tables, lists and values."""
    import yaml  # noqa: PLC0415 - only those who read guides wait for it

    try:
        if finding := _not_plain(head, deepest) or _twice(head):
            return finding, {}
        table = cast("object", yaml.safe_load(head))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = f"Its head is not YAML: {_shown(str(error.problem or error.context))}."
        repair = "Put values that have a colon or a # in them into quotes."
        return Finding(why, repair, 0 if mark is None else mark.line + 2), {}
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError):
        # A number without end, a day that never was: the values are the guide's.
        return Finding("Its head cannot be read.", "Write plain values, in quotes.", 1), {}
    if not isinstance(table, dict):
        return Finding("Its head is not a table.", "Write lines such as name: my-guide.", 1), {}
    return None, {str(key): value for key, value in cast("dict[object, Any]", table).items()}


def _not_plain(head: str, deepest: int) -> Finding | None:
    """What in a head could make more of itself than it is, told by the events of the parser."""
    import yaml  # noqa: PLC0415 - only those who read guides wait for it

    depth = 0
    parse = cast("Callable[..., Iterator[Any]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType]
    for event in parse(head, Loader=yaml.SafeLoader):
        line = int(event.start_mark.line) + 2
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            return Finding("Its head has an anchor (&) or an alias (*).", "Write it out.", line)
        if getattr(event, "tag", None):
            return Finding("Its head has a tag (!).", "Put the value into quotes.", line)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > deepest:
            return Finding("Its head is nested too deeply.", "Write a flat table.", line)
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
            return Finding("Its head says something twice.", "Leave one of them out.", line)
        seen.add(str(key.value))
    return None


def _name_findings(head: dict[str, Any], folder: str) -> Iterator[Finding]:
    name = head.get("name")
    if not isinstance(name, str) or not GUIDE_NAME.fullmatch(name):
        repair = "Write name: with at most 64 small letters, digits and single dashes."
        yield Finding("It has no name that a guide can have.", repair, 1)
    elif name != folder:
        what = f"It is called {name!r}, and its folder {_shown(folder)!r}."
        yield Finding(what, "Give both the same name.", 1)


def _head_findings(head: dict[str, Any]) -> Iterator[Finding]:
    description = head.get("description")
    if not isinstance(description, str) or not description.strip():
        repair = "Write description: with what it does and when to use it."
        yield Finding("It has no description.", repair, 1)
    elif len(description.strip()) > _LONGEST_DESCRIPTION:
        what = f"Its description has more than {_LONGEST_DESCRIPTION} characters."
        yield Finding(what, "Say only what it does and when to use it.", 1)
    for key, kinds in _EXPECTED.items():
        if head.get(key) is not None and not isinstance(head[key], kinds):
            wanted = " or ".join({str: "a text", dict: "a table", list: "a list"}[k] for k in kinds)
            yield Finding(f"Its {key} is not {wanted}.", f"Write {wanted}, or none.", 1)


def _path_findings(files: Sequence[SkillFile]) -> Iterator[Finding]:
    seen = {"skill.md"}
    for file in files:
        shown = _shown(file.path)
        if not _is_inside(file.path):
            what = f"The path {shown!r} leaves the folder, or cannot be one."
            yield Finding(what, "Use a plain path below the folder.")
        elif file.path.casefold() in seen:
            yield Finding(f"{shown!r} is there twice.", "Give each file its own name.")
        elif any(is_sensitive(part) for part in file.path.split("/")):
            what = f"{shown!r} is the name of a file that usually holds secrets."
            yield Finding(what, "Leave it out.")
        seen.add(file.path.casefold())


def _is_inside(path: str) -> bool:
    unseen = any(unicodedata.category(letter)[0] == "C" for letter in path)
    return (
        0 < len(path) <= _LONGEST_PATH
        and not unseen
        and not re.search(r'[\\:*?"<>|]', path)
        and all(part.strip(". ") for part in path.split("/"))
    )


def _content_findings(content: str, path: str, redact: Redactor) -> Iterator[Finding]:
    where = f"{path}: " if path else ""
    if match := _UNWRITTEN.search(content):
        line = content.count("\n", 0, match.start()) + 1
        what = f"{where}There is something in it that is not text."
        yield Finding(what, "A guide has text files only; remove it.", line)
    if redact(content) != content:
        lines = enumerate(content.split("\n"), start=1)
        line = next((number for number, each in lines if redact(each) != each), 0)
        what = f"{where}There is a secret in it."
        yield Finding(what, "Remove it, and say where to get it instead.", line)
    yield from dangers(content, path)


def _shown(text: str) -> str:
    """A foreign word in a message: short, and with nothing in it that could not be seen."""
    return "".join(
        letter if unicodedata.category(letter)[0] != "C" else "\ufffd" for letter in text[:80]
    )
