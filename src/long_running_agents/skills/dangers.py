"""What malicious guides do: found by its words, for a person to look at.

Nothing here decides. Whoever is clever enough words it in another way, so that the sandbox and
the person stay the walls; this only shows the person where to look first.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice

from long_running_agents.domain.skill import Finding, Severity

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


@dataclass(frozen=True, slots=True)
class _Danger:
    """Words that together are worth a question."""

    what: str
    repair: str
    signs: tuple[str, ...]
    within: int = 0
    """How many lines after the first sign the others may be."""


def _danger(what: str, repair: str, *signs: str, within: int = 0) -> _Danger:
    return _Danger(what, repair, signs, within)


@cache
def _compiled(sign: str) -> re.Pattern[str]:
    # When the first guide is read: few programs that load this read any.
    return re.compile(sign, re.IGNORECASE)


_SAY = "Put the commands themselves into the guide, or a script beside it."
_LEAVE = "Leave it out, unless you know why it is there."
_NAME_IT = "Name the page itself, with its own address."

_DANGERS = (
    _danger("It loads something and runs it at once.", _SAY, _LOAD,
            rf"\|&?\s{{0,9}}{_SHELL}(?!\s{{1,9}}-m\s{{1,9}}json\.tool)"),
    _danger(
        "It loads something and runs it at once.",
        _SAY,
        rf"(?:{_SHELL}|\beval\b|\bsource\b|\bexec\b|(?:^|\s)\.\s)",
        r"(?:<\(|\$\(|`)\s{0,9}(?:curl|wget)\b",
    ),
    _danger(
        "It loads a file and then runs one.",
        _SAY,
        _LOAD,
        rf"(?m)(?:^|&&|;|`)[\s$>]{{0,9}}(?:{_SHELL}\s{{1,9}}\S|chmod\s{{1,9}}\S{{0,9}}[x7]|\./\w|"
        r"(?:source|start|open)\s)",
        within=3,
    ),
    _danger(
        "It loads something and runs it at once.",
        _SAY,
        r"\b(?:iex|invoke-expression)\b",
        _POWERSHELL_LOAD,
    ),
    _danger(
        "It runs what an address answers.",
        _SAY,
        _EXECUTE,
        r"\b(?:requests\.(?:get|post)|urlopen|httpx\.get|urllib\.request)\b|\bfetch\(",
    ),
    _danger(
        "It uses a program of the system to load something.",
        _SAY,
        r"\bmshta\b|\bcertutil\b[^\n]{0,40}-urlcache|\bbitsadmin\b|\bregsvr32\b|\brundll32\b|"
        r"https?://\S{1,200}\.(?:exe|msi|dmg|pkg|scr|bat|ps1|appimage|apk)\b",
    ),
    _danger(
        "It installs a package from an address of its own.",
        "Name the package as the registry has it.",
        r"\b(?:pip3?|pipx|uv|npm|yarn|gem|cargo|go)\b[^\n]{0,40}\binstall\b|\bnpx\b|\buvx\b",
        r"git\+|--(?:extra-)?index-url|--registry|\bhttps?://\S{1,200}\.(?:whl|tgz|tar\.gz|zip)",
    ),
    _danger("It unpacks a command that nobody can read, and runs it.", _SAY, _UNPACK,
            rf"\|\s{{0,9}}{_SHELL}|\beval\b|\biex\b|\$\("),
    _danger("It unpacks code that nobody can read, and runs it.", _SAY, _DECODE, _EXECUTE,
            within=_ANYWHERE),
    _danger("It has a command that nobody can read.", _SAY,
            r"\b(?:powershell|pwsh)\b[^\n]{0,80}\s-e(?:nc|ncodedcommand)?\s"),
    _danger("It has a long text that nobody can read.", "Put in what it means, as plain text.",
            r"[A-Za-z0-9+/]{200}"),
    _danger("It has an archive with a password, which no scanner can look into.",
            "Put the files themselves beside the guide.",
            r"\bpass(?:word|phrase|code)?s?\b", r"\b(?:zip|unzip|rar|unrar|7z|7-?zip|archive)\b"),
    _danger("It has an archive with a password, which no scanner can look into.",
            "Put the files themselves beside the guide.",
            r"\bunzip\b[^\n]{0,80}\s-P|\b7z[az]?\b[^\n]{0,80}\s-p\S"),
    _danger("It asks a person to run something in a terminal.", _LEAVE,
            r"\b(?:paste|copy|type|enter|run|execute)\b[^\n]{0,80}\b(?:in|into|to)\s{1,9}"
            r"(?:your|a|the|their)\s{1,9}(?:\w{1,20}\s{1,9})?"
            r"(?:terminal|shell|console|command\s(?:prompt|line)|powershell|run\sdialog)\b"),
    _danger("It wants something installed before it works.", _LEAVE,
            r"\b(?:prerequisites?|pre-requisites?|required\s{1,9}(?:driver|agent|tool|utility))\b",
            r"\b(?:download|installer|execute|terminal|curl|wget)\b|https?://|\.zip\b",
            within=6),
    _danger("It switches off what protects a system.", _LEAVE,
            r"\bxattr\b[^\n]{0,40}quarantine|\bspctl\b|\bset-mppreference\b|"
            r"-executionpolicy\s{1,9}bypass|\bsetenforce\s{1,9}0"),
    _danger("It reads keys.", _LEAVE,
            r"\.ssh\b|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|\.gnupg\b|\.aws\b|\.kube\b|\.netrc\b|"
            r"\.pgpass\b|\.npmrc\b|\.pypirc\b|\.git-credentials\b|/etc/(?:passwd|shadow)\b|"
            r"\bfind-generic-password\b|\bwallet\.dat\b|\bLogin Data\b|\.bash_history\b"),
    _danger("It reads settings or the environment, where keys are kept.", _LEAVE,
            r"(?<![\w\])])\.env\b(?!\.(?:example|sample|template))|\bprintenv\b|\bLRA_\w{1,40}|"
            r"\bconfig\.toml\b|\blra\.db\b|\bos\.environb?\b|\bgetenv\b|\bprocess\.env\b|"
            r"/proc/(?:self|\d{1,7})/environ|(?m:^|[;&|`$(])\s{0,9}env\s{0,9}(?:\||>|$)"),
    _danger("It opens a connection of its own.", _LEAVE,
            r"/dev/(?:tcp|udp)/|\b(?:nc|ncat|netcat)\b\s{1,9}-|\bsocat\b|\bmkfifo\b"),
    _danger("It makes something stay, or changes what you are told in later turns.", _LEAVE,
            r"\bcrontab\b|\bauthorized_keys\b|\.(?:bashrc|zshrc|profile|bash_profile)\b|"
            r"\blaunchctl\b|\bsystemctl\b[^\n]{0,40}\benable\b|"
            r"\b(?:SOUL|USER|AGENTS|CLAUDE|MEMORY)\.md\b|\bcron\.json\b"),
    _danger("It deletes everything.", _LEAVE,
            r"\brm\s{1,9}-\w{0,9}r\w{0,9}\s{1,9}(?:-\S{1,20}\s{1,9}){0,3}"
            r"['\"]?(?:/|~|\$HOME|\$\{HOME)"),
    _danger("It keeps something from the user.", _LEAVE,
            rf"{_NOT}\s{{1,9}}(?:ever\s{{1,9}})?{_TELL}\b[^.\n]{{0,20}}\s{{1,9}}"
            rf"(?:[^.\n]{{0,60}}?\s)?{_USER}"),
    _danger("It keeps something from the user.", _LEAVE,
            r"\b(?:secretly|covertly|surreptitiously|stealthily)\b|\bsilently\s{1,9}(?:send|upload|"
            r"run|execute|install|download|post|copy|forward|delete|append|add|include)\b|"
            rf"\b(?:hide|hidden|conceal|secret)\b[^.\n]{{0,60}}\bfrom\s{{1,9}}(?:the\s{{1,9}})?{_USER}|"
            rf"{_USER}\s{{1,9}}(?:must|should|need|does|do|will)\s{{0,9}}(?:not|n.t)\s{{1,9}}"
            r"(?:know|see|notice|be\s{1,9}(?:told|informed|asked))|"
            r"\bkeep\s{1,9}(?:this|it|that)\s{1,9}(?:a\s{1,9})?(?:secret|hidden|quiet)"),
    _danger("It asks to ignore instructions or rules.", _LEAVE,
            r"(?<!not\s)(?<!n.t\s)\b(?:ignore|disregard|forget|override|bypass|circumvent)\b"
            r"\s{1,9}(?:[^.\n]{0,40}\s)?"
            r"(?:instructions?|rules?|guidelines?|polic(?:y|ies)|safety|prompts?|restrictions?|"
            r"approvals?|guardrails?|safeguards?)\b|\b(?:jailbreak|developer\s{1,9}mode|DAN\s"
            r"{1,9}mode)\b|<\|\w{1,20}\|>|</?(?:system|assistant)>|\byou\s{1,9}are\s{1,9}now\b"),
    _danger("It claims a permission, or does without one.", _LEAVE,
            r"\b(?:users?|person|owner)\s{1,9}(?:has|have)\s{1,9}(?:already\s{1,9})?(?:pre-?)?"
            r"(?:approved|authori[sz]ed|agreed|consented|granted)\b|\bauto-?approve|"
            r"--dangerously-\w|--yolo\b|\bwithout\s{1,9}(?:any\s{1,9})?(?:asking|approval|"
            r"confirmation|permission|consent)\b"),
    _danger("It has characters that cannot be seen, or that turn the direction of the text.",
            "Remove them: what a person reads must be what the model reads.",
            "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
            "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ue000-\uf8ff"
            "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
            "|[\u200c\u200d\ufe0e\ufe0f]{2}|(?<=[!-~])[\u200c\u200d](?=[!-~])"),
    _danger("It has a word of letters that only look like Latin ones.",
            "Write the word with the letters of one alphabet.",
            rf"[a-z][{_DRAWN_ALIKE}{_GREEK_ALIKE}]|[{_DRAWN_ALIKE}{_GREEK_ALIKE}][a-z]"),
    _danger("It has a link to a bare number instead of a name.", _NAME_IT,
            r"\b(?:https?|ftp)://(?:[^\s/@]{1,80}@)?(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]{2,45}\]|"
            r"0x[0-9a-f]{6,8}|\d{8,10})(?![\w.-])"),
    _danger("It has a link that hides where it leads.", _NAME_IT,
            rf"(?<![\w.-])(?:{_SHORT})/\w|\bhttps?://[^\s/]{{0,80}}(?:@|xn--)|"
            r"\bhttps?://[^\s/\x00-\x7f]|\bhttps?://[\w.-]{1,80}[^\s\x00-\x7f]"),
    _danger("It has a link to a place where anybody can put or collect anything.", _NAME_IT,
            rf"(?<![\w.-])(?:{_PASTE})"),
)  # fmt: skip


def dangers(text: str, path: str = "") -> list[Finding]:
    """What in a text a person has to look at.

    Args:
        text: A file of a guide.
        path: Which one; empty for SKILL.md itself.
    """
    # A command may go on in the next line; of the same length, so that the places stay.
    joined = text.replace("\\\n", "  ")
    breaks = [place.start() for place in re.finditer("\n", joined)]
    lines = [place.start() for place in re.finditer("\n", text)]
    found: dict[tuple[int, str], Finding] = {}
    for danger in _DANGERS:
        for place in islice(_places(danger, joined, breaks), _MOST):
            line = bisect_left(lines, place) + 1
            found.setdefault((line, danger.what), _finding(danger, line, path))
    return [found[key] for key in sorted(found)]


def _finding(danger: _Danger, line: int, path: str) -> Finding:
    return Finding(
        message=f"{path}: {danger.what}" if path else danger.what,
        repair=danger.repair,
        line=line,
        severity=Severity.WARNING,
    )


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
