"""Claims: what a final answer says was done, and what of it no tool call knows.

Nothing here understands a text. Only sentences of the usual forms count, as far as nothing hedges
them: that a claim is missed costs less than that an honest answer is doubted.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

from long_running_agents.domain.compaction import clip

_LOOKED, _LINE, _CLAIMS, _MOST, _LONGEST = 100_000, 2_000, 40, 10, 120
"""Characters of an answer and of a line, claims compared and listed, characters shown of one."""
_PLAIN = str.maketrans("\u2019\u2013\u2014", "'--")
_Known = tuple[str, ...]
"""A pattern for the texts that know something, and what one of must be in them for that."""
# The patterns are compiled when they are needed, since most answers need none.
_FETCHED = "fetched|downloaded|opened|visited|cloned|pushed|deployed|published|uploaded"
# "Read" is none of them, since what a user pasted or attached was read without a call.
_DONE = (
    f"{_FETCHED}|wrote|written|created|saved|stored|generated|produced|updated|modified|edited|fixed"
    "|changed|patched|added|appended|removed|deleted|renamed|moved|copied|ran|reran|executed|made"
    "|installed|committed|built|compiled|implemented|refactored|configured|exported|converted"
    "|extracted|tested|verified|started|launched|replaced|placed"
)
_HINTS = {*f"{_DONE}|run|did|done|put|set|pass|passed|passes|passing|exit|exited".split("|")}
_DID = f"(?:re-)?(?:{_DONE})"
_ALSO = r"(?:(?:also|just|then|now|already|first|both|all|\w{2,15}ly),? ){0,3}"
_ALL = r"(?:(?:unit|integration|new|existing|of|the|my|our|your) ){0,3}"
_GREEN = r"(?: (?:in|for) \S{1,300})? (?:(?:now|have|are|all) ){0,3}(?:pass(?:ed|es|ing)?|green)\b"
_COUNT = (
    r"(?<![\w.,/-])(?P<count>\d{1,6})(?: ?/ ?\d{1,6}| out of \d{1,6})?"
    rf"(?: {_ALL}(?:tests?(?: cases?)?|checks?|specs?|assertions?))?{_GREEN}"
)
_TESTS = rf"(?P<tests>\b(?:all )?{_ALL}tests?(?: suite| cases?)?{_GREEN})"
_EXIT = r"\bexit(?:ed with)?(?: an?)? (?:exit )?(?:code|status)(?: of)?:? (?P<exit>\d{1,3})"
_CLAIM = (
    rf"(?i)\b(?:I|we)(?:'ve)? (?:(?:have|had) )?{_ALSO}(?:{_DID}|did|done|put|set up)\b"
    rf"|(?:\bha(?:ve|s|d)|'ve|\bwas|\bwere|\bbeen) {_ALSO}run\b"
    rf"|\b(?:was|were|been|(?:is|are) now) {_ALSO}{_DID}\b(?! by (?!me\b))"
    rf"|\b(?:it|script|command|program)(?: has)? {_ALSO}{_DID}\b"
    rf"|(?:^|\|)(?:\0++|[^\w\0]){{0,8}}(?:done\W{{1,3}})?{_ALSO}{_DID}\b(?! by\b)"
    rf"|^\W{{0,8}}(?:all |new )?(?:file|folder|command|change|page|package|test)s? (?:{_DID}|run)\b"
    r"|\b(?:exited|finished|completed|ended) (?:\w{1,20} )?with\b|^\W{0,8}exit code\b"
    rf"|{_COUNT}|{_TESTS}"
)
_HEDGE = (
    r"(?i)\b(?:not|never|cannot|unable|fail(?:s|ed)? to|without|instead of|rather than|would|could"
    r"|should|might|can|will|shall|must|if|unless|until|when|once|before|whether|because|since|why"
    r"|how|please|let'?s|let me|make sure|ensure|for example|looks? like|needs?|wants?|going to"
    r"|plans? to|planned to|tr(?:y|ied) to|about to|ready to|(?-i:may)|which|who|where|e\.g"
    r"|(?<!verified )(?<!confirmed )(?<!shows )that)\b|n't\b|'ll\b|\[ \]|❌|✗|✘"
    r"|\byou(?:'\w+| (?:have|had|are|did|want|need|\w+ed|wrote|gave|sent|made|ran))\b"
    r"|(?:^\W{0,8}|[,:(] ?|\b(?:and|or|to) )(?:run|use|try|execute|start|see|check|open|call)\b"
    r"|\bto (?:be|read|write|create|load|save|generate|fetch|make|let|allow|handle|support|include"
    r"|return|get|build|test|do|view|install|import|match|avoid|prevent|point|print|show)\b"
)
_CLAUSE = r"(?<=[.!?])[\"')*\]]{0,3} |; | - |,? (?:but|however|(?:al)?though|while|so) "
_QUESTION = r"(?:^|(?<=[.!?] ))[^.!?]*+\?"
_ITEM = r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[xX]\]\s)?|(?=\||\W{0,2}[✅✓✔]))"
_FENCED = r"(?ms)^[ \t]*(`{3,}(?=[^`\n]*$)|~{3,}).*?(?:\n[ \t]*\1|\Z)"
_WORD = r"`(?P<quoted>[^`]+)`|https?://[^\s<>\"'`()\]|*]+(?<![.,;:!?])|[\w.~@+/-]{2,200}[\w~/]"
_FILE = (
    r"(?i)(?<=\w)\.(?:pyi?|ipynb|md|rst|txt|log|jsonl?|ya?ml|toml|ini|cfg|conf|[ct]sv|xml|html?|s?css"
    r"|(?<!node\.)(?<!next\.)(?<!vue\.)(?<!react\.)[mc]?jsx?|tsx?|vue|svelte|java|kt|go|rs|[ch]pp|cs"
    r"|(?<=[a-z_]\.)[ch]|rb|php|sh|ps1|bat|sql|db|sqlite|png|jpe?g|gif|svg|webp|pdf|docx?|xlsx?|pptx?"
    r"|odt|zip|tar|t?gz|parquet|lock|tex|mp[34]|wav|patch|diff)\Z|(?:^|/)(?:(?-i:Make|Docker)file|\.env)\Z"
)
_PLACE = r"https?://\S+|(?!.*path/to|/workspace/*\Z)[\w.~@+/-]+"
_ROOTED = r"\A(?:~|\.{1,2})?(?:/\.?[\w+@-][\w.+@-]*){2,}/?\Z"
_BY = r"\b(?:with|using|via|by) `[a-z./][\w./-]* [^`=({]+`\Z"
_RAN = rf"(?i)\b(?:ran|run|running|executed|commands?)\b[^`.]{{0,40}}(?:`[^`]*`)?\Z|{_BY}"
_APART = r"[\s\"'`,\[\]()\\]+"
_PASSED = (
    r"\d pass[ei]|PASS|\bOK\b|tests? pass|[✓✔✅]|\A\[exit code 0\](?s:.*?)(?:test|assert)",
    *(" pass", "PASS", "OK", "✓", "✔", "✅", "test", "assert"),
)
# These begin with a letter or a number that is looked for, which is ten times as fast.
_COUNTED = (
    r"#(?<![\d.]#)(?!\d|\.\d)(?i:(?<=run: #)|(?<=pass #)|(?<=passed: #)|(?<=tests #)|(?<=tests: #)"
    r"|(?<=ok #)|(?: ?/ ?\d+)?\W{1,3}(?:\w{1,30} ){0,2}(?:pass|ok\b|(?:test|check|spec)s?\b))"
)
_EXITED = r"xit(?:ed)?[\W_]{0,3}(?:with |code|status){0,3}\W{0,5}#\b|eturn_?code\W{0,5}#\b"


def not_seen(answer: str, known: Iterable[str]) -> list[str]:
    """What an answer claims and none of the texts knows; they are read only if there are claims."""
    claims, texts = dict(islice(_claims(answer), _CLAIMS)), iter(known)
    while claims and (text := next(texts, None)) is not None:
        for said, (pattern, *parts) in [*claims.items()]:
            if any(part in text for part in parts) and re.search(pattern, text):
                del claims[said]
    return list(dict.fromkeys(clip(said, _LONGEST) for said in claims))[:_MOST]


def _claims(answer: str) -> Iterator[tuple[str, _Known]]:
    header, prose = "", re.sub(_FENCED, "", answer[:_LOOKED])
    for raw in re.findall(r"(?m)^(?![ \t]*>)[ \t]*\S.*$", prose):
        item = re.match(_ITEM, raw)
        header = header if item else ""
        if not header and _HINTS.isdisjoint(re.findall("[a-z]+", raw.lower())):
            continue
        line = " ".join(raw[item.end() if item else 0 :][:_LINE].translate(_PLAIN).split())
        # What is named is hidden, so that no word in it is taken for one of the sentence.
        masked = re.sub(_WORD, lambda word: "\0" * len(word[0]) if _kind(word) else word[0], line)
        masked = re.sub(_QUESTION, lambda asked: "." * len(asked[0]), masked)
        first = re.match(r"[^\0]*\0.*?(?=\||: | - |\Z)", re.split(_HEDGE, masked, maxsplit=1)[0])
        if header and first:
            yield from _named(line, 0, first.end(), header)
        ends = [(0, 0), *(each.span() for each in re.finditer(_CLAUSE, masked)), (len(line), 0)]
        claimed = False
        for (_, start), (end, _) in pairwise(ends):
            scope = re.split(_HEDGE, masked[start:end], maxsplit=1)[0]
            if claimed := re.search(_CLAIM, scope) is not None:
                yield from _named(line, start, start + len(scope))
        if claimed and (re.match(r"#+ .* |\*\*", line) or line.rstrip("*_ ").endswith(":")):
            header = line[-200:]


def _named(line: str, start: int, end: int, header: str = "") -> Iterator[tuple[str, _Known]]:
    for found in re.compile(f"(?i){_COUNT}|{_TESTS}|{_EXIT}|{_WORD}").finditer(line, start, end):
        text, near = found["quoted"] or found[0], line[max(start, found.start() - 60) : found.end()]
        match found.lastgroup, _kind(found):
            case "count", _:
                seen = _COUNTED.replace("#", found["count"]), found["count"]
            case "tests", _:
                seen = _PASSED
            case "exit", _:
                seen = _EXITED.replace("#", found["exit"]), "xit", "eturncode", "eturn_code"
            case _, "path":
                seen = _path(text)
            case _, "url" if re.search(f"(?i){_FETCHED}", header or line[start:end]):
                bare = re.sub(r"https?://(?:www\.)?|/?(?:#.*)?\Z", "", text)
                seen = re.escape(bare), bare
            case _, "quoted" if re.search(_RAN, header or near):
                words = re.split(_APART, re.split(r"\S*(?:…|\.{3})", text.lstrip("$ "))[0])
                command = _APART.join(re.escape(word) for word in words if word)
                seen = rf"(?<![\w-]){command}(?![\w-]|\.\w)", words[0]
            case _:
                continue
        yield found[0].strip("`"), seen


def _kind(found: re.Match[str]) -> str:
    text, other = (found["quoted"], "quoted") if found["quoted"] else (found[0], "")
    if not (other or "." in text or "/" in text) or not re.fullmatch(_PLACE, text):
        return other
    named = re.search(rf"{_FILE}|\w\w/" if other else rf"{_FILE}|{_ROOTED}", text)
    return "url" if "://" in text else "path" if named else other


def _path(text: str) -> _Known:
    """The path at the end of any, or its own end where that stands alone."""
    parts = [part for part in text.removeprefix("/workspace/").split("/") if part.strip(".~")]
    *folders, name = [re.escape(part) for part in parts[-8:]] or [""]
    lead = "(?:" * len(folders) + "".join(f"{folder}/)?" for folder in folders)
    alone = rf"(?<![\w./~-])(?:(?:\.{{1,2}}|~|/workspace)?/)?{lead}{name}"
    whole = rf"(?<![\w.-]){'/'.join([*folders, name])}"
    return rf"(?:{whole}|{alone})(?![\w-]|\.\w)", *parts[-1:]
