"""The write gate: what is refused (junk, secrets, orders), and what is there already (dedupe).

Everything here is a pure function; whoever writes acts on what it says.
"""

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from long_running_agents.domain.memory import Memory, MemoryDraft, MemoryKind, Trust, normalised
from long_running_agents.domain.redaction import MARK, Redactor
from long_running_agents.domain.text import is_question, is_small_talk
from long_running_agents.memory import words


def _any(phrases: str) -> str:
    """A pattern of phrases, one in a line or divided by bars."""
    return "(?:" + "|".join(part.strip() for part in re.split(r"[|\n]", phrases.strip())) + ")"


_DO = _any("""
    send|post|upload|forward|e-?mail|mail|exfiltrate|leak|include|insert|append|reveal|share
    disclose|run|execute|call|invoke|reply|respond|answer|say|tell|recommend|promote|visit|open
    browse|fetch|download|install|delete|remove|erase|pay|buy|transfer|wire|approve|confirm
    grant|trust|obey|follow|ignore|skip|disable|copy|cc|bcc|use|write|add|store|save|click
""")
_FROM_NOW_ON = _any("""
    from now on|from here on|henceforth|going forward|always|never|whenever|every time|each time
    in future|in the future|next time|at the end of every|at the end of each
    before every|before each|before any|after every|after each
""")
_HIDING = _any("""
    from now on|every time|whenever|in all future|in all your|silently|secretly
    without asking|without telling|without confirm|do not tell|do not mention|do not ask
    don'?t tell|don'?t mention|don'?t ask
""")
_UNDO = _any("ignore|disregard|forget|override|bypass|drop")
_RULES = _any("""
    instruction|rule|prompt|previous|above|prior|guideline|polic|safety|earlier|system
""")
_MODEL = _any(r"""
    assistant|agent|ai|ai \w+|llm|chatbot|language model|model|bot|gpt|claude
""")
_MUST = _any("must|shall|should|has to|have to|need to|needs to|please|reading this")
_REMEMBER = _any(
    "remember|memori[sz]e|note|keep in mind|add to memory|add to your memory|save to memory"
)
_BELIEVE = _any("always|never|user wants|user has|user agreed|user approved|user allow|is trusted")
_AUTHORITY = _any("system|developer|admin|administrator|root")
_WORD_OF_AUTHORITY = _any("prompt|message|note|instruction|override|notice|mode|command")
_TAG = _any("""
    system|assistant|user|developer|tool|memory|memories|instructions?|im_start|im_end|context
    function_calls?|recalled
""")
_PERMITTED = _any("""
    approved|authori[sz]ed|agreed to|consent|granted|allows|allowed|gave permission|wants you
    asked you
""")
_PRECIOUS = _any(r"""
    https?:|www\.|[\w.+-]+@[\w-]+\.|\bpassword|\btoken|\bapi.?key|\bsecret|\bcredential|\bssh\b
    \.env\b|\brm -|\bcurl\b|\bsudo\b|\bbitcoin\b|\biban\b|\bwallet\b
""")

_ENGLISH = (
    rf"\b{_UNDO}\b.{{0,40}}\b{_RULES}",
    rf"\b{_FROM_NOW_ON}\b.{{0,80}}\b{_DO}\b",
    rf"\b{_DO}\b.{{0,80}}\b{_HIDING}\b",
    r"\byou (?:must|shall|should|are now|will now|have to|need to|are required to|may now)\b",
    rf"\b{_MODEL}s?\b\W{{0,3}}(?:{_MUST}\b|:\s|{_DO}\b)",
    rf"\b{_MODEL}s?,\s*(?:please|you|always|never|{_DO})\b",
    rf"\b{_REMEMBER}\b\W.{{0,60}}\b(?:{_BELIEVE}|{_DO})",
    rf"\b{_AUTHORITY} {_WORD_OF_AUTHORITY}s?\b",
    rf"</?\s*{_TAG}\b|<\|[a-z_]+\|>|\[/?(?:inst|system|sys)\]|<<\s*sys",
    r"(?:^|\n)\W{0,4}(?:system|assistant|developer|instructions?|new task)\W{0,4}:",
    rf"\buser (?:has )?(?:already )?(?:pre-?)?{_PERMITTED}\b",
    rf"(?:^|[.!?:;\n\"'(]\s*|\b(?:please|to|then|and|just|kindly)\s+){_DO}\b.{{0,60}}{_PRECIOUS}",
)
_OTHER_LANGUAGES = (
    r"\b(?:ignoriere|vergiss|missachte)\b.{0,40}\b(?:anweisung|regel|vorherig|bisherig|oben)",
    r"\b(?:immer|ab jetzt|ab sofort|von nun an|künftig|jedes mal|du musst|merke dir)\b.{0,80}\b"
    + _any("send|schick|leit|antwort|führ|lösch|überweis|empfiehl|sag|teil"),
    r"\b(?:ignore[zr]?|oublie[zr]?)\b.{0,40}\b(?:instruction|consigne|précédent|règle)",
    r"\b(?:toujours|désormais|à partir de maintenant|tu dois|vous devez|souviens-toi)\b.{0,80}\b"
    + _any("envo|transf|répond|exécut|supprim|recommand|partag|pay"),
    r"\b(?:ignora|olvida)\b.{0,40}\b(?:instruccion|regla|anterior|istruzion|precedent)",
    r"\b(?:siempre|a partir de ahora|debes|recuerda|sempre|d'ora in poi|devi|ricorda)\b.{0,80}\b"
    + _any("env[ií]|reenv|respond|ejecut|borr|recomiend|comparte|invi|rispond|esegu|cancell"),
    r"(?:忽略|无视|無視).{0,20}(?:指令|指示|规则|之前|以上)",
    r"(?:从现在起|总是|始终|请记住|必须).{0,40}(?:发送|转发|回复|执行|删除)",
    r"(?:指示|命令|ルール).{0,10}(?:無視|忘れ)|今後.{0,30}(?:送|実行|削除)",
    r"(?:игнорируй|забудь).{0,40}(?:инструкц|правил|предыдущ)",
    r"\b(?:всегда|отныне)\b.{0,60}(?:отправ|удал|выполн)",
)
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")


@cache
def _order() -> re.Pattern[str]:
    """Compiled when the first text is looked at: few programs that load this look at any."""
    orders = "|".join(f"(?:{order})" for order in (*_ENGLISH, *_OTHER_LANGUAGES))
    return re.compile(orders, re.IGNORECASE | re.DOTALL)


def gives_orders(content: str) -> bool:
    """Whether a text tells whoever reads it what to do."""
    plain = _plain(content)
    # A file's name has no spaces.
    as_words = plain.replace("_", " ").replace("-", " ")
    return any(_order().search(text) for text in (plain, as_words, *_decoded(plain)))


def _plain(content: str) -> str:
    """A text as it looks: of one width, and with nothing invisible in its words."""
    wide = unicodedata.normalize("NFKC", content)
    seen = "".join(letter for letter in wide if unicodedata.category(letter) not in ("Cf", "Mn"))
    return seen.replace("\u2019", "'")


def _decoded(content: str) -> Iterator[str]:
    """What is hidden in a text as base64."""
    for match in _ENCODED.finditer(content):
        code = match.group().rstrip("=").replace("-", "+").replace("_", "/")
        try:
            yield base64.b64decode(code + "=" * (-len(code) % 4)).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            continue


_NAMED = (
    r"(?:(?<![^\W_])(?:pass(?:word|wd|code|phrase)?|pin|secret(?:\s+key)?|api[ _-]?key|"
    r"access[ _-]?key|(?:access|auth|api|bearer)[ _-]?token|client[ _-]?secret|private[ _-]?key|"
    r"cvv|cvc|passwort|kennwort|mot\s+de\s+passe|contraseña|пароль)(?![^\W_])"
    r"|密码|密碼|パスワード)"
)
_GIVEN = re.compile(
    rf"{_NAMED}(?:\s+(?:for|of|to|für)\s+[^\s=:]+(?:\s+[^\s=:]+)?)?"
    r"\s*(?P<by>=|:|\uff1a|→|->|\b(?:is|was|ist|est|es)\b\s*:?|是|は)"
    r"\s*[\"'`“„]?(?P<value>(?!//)[^\s\"'`“”]{3,})(?P<rest>[ \t]+[^\W\d_]{2,})?",
    re.IGNORECASE,
)
_SHAPED = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}"
    r"|\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]+@"
    r"|\b(?:bearer|basic)\s+[A-Za-z0-9+/=._-]{16,}",
    re.IGNORECASE,
)
_CARD = re.compile(r"(?<![\d+])(?<!\d[ -])[2-6]\d{3}(?:[ -]?\d){9,15}(?![ -]?\d)")

# After "the password is" comes either the password or what there is to say about it.
_ABOUT = frozenset(
    """
    about also always available because being changed compromised correct different empty enough
    expired good hard hidden important incorrect invalid just kept known like long lost managed
    missing never none not now okay only optional outdated over reset required safe same saved
    secure set shared short simple somewhere still stored strong the there too unknown unset used
    valid very weak with within without written wrong
    """.split()  # noqa: SIM905 - as in words.py
)


def secrets(text: str) -> list[tuple[int, int]]:
    """Where a text gives away a secret: the beginning and the end of each."""
    found = [match.span() for match in _SHAPED.finditer(text)]
    found += [match.span("value") for match in _GIVEN.finditer(text) if _gives_away(match)]
    found += [match.span() for match in _CARD.finditer(text) if _adds_up(match.group())]
    return sorted(found)


def masked(text: str) -> str:
    """A text without the secrets it gives away."""
    for start, end in reversed(secrets(text)):
        text = f"{text[:start]}{MARK}{text[end:]}"
    return text


def _gives_away(match: re.Match[str]) -> bool:
    value = match["value"].rstrip(".,;:!?)\u3002")
    if MARK.startswith(value) or value.startswith(("[", "<", "{", "$", "*")):
        # A mark or a placeholder stands where the secret was.
        return False
    if any(letter.isdigit() or not letter.isalnum() for letter in value[1:].replace("-", "")):
        return True
    if value[1:].lower() != value[1:]:
        return len(value) > len("Apple") and not match["rest"]
    if match["by"].lower() in ("=", "->", "→", "是", "は"):
        return True
    # A lone word that says nothing about secrets is one; a sentence that goes on is not.
    return value.lower() not in _ABOUT and not match["rest"] and "secret" not in match[0].lower()


def _adds_up(number: str) -> bool:
    """Whether digits are those of a payment card: the last one checks the others."""
    digits = [int(digit) for digit in number if digit.isdigit()]
    if digits[0] == 2 and not 22 <= digits[0] * 10 + digits[1] <= 27:  # noqa: PLR2004 - as issued
        return False
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


_WHO = (
    r"\b(?:i|the user|user)(?:'m|'ve|\u2019m|\u2019ve)?\s+(?:(?:am|is|have|has|had|was|now|just|"
    r"recently|currently|used to|will|soon|also|bin|habe|jetzt)\s+)*"
)
_MINE = r"\b(?:my|the user's|user's|the user\u2019s|mein|meine)\s+"

_TOPICS = {
    "home live moved": (
        rf"{_WHO}(?:live[sd]?|living|reside[sd]?|based|moved|moving|relocated|wohne|lebe)"
        r"\s+(?:back\s+)?(?:in|to|at|near|nach)\b"
        rf"|{_MINE}(?:home|home town|hometown|address|flat|apartment|house|wohnort|adresse)"
        r"\s+(?:is|are|ist)\b"
    ),
    "work job employer": (
        rf"{_WHO}(?:work(?:s|ed|ing)?|employed|arbeite)\s+(?:at|for|by|bei)\b"
        rf"|{_WHO}(?:joined|hired\s+by|got\s+a\s+job\s+at|started\s+(?:at|working))\b"
        rf"|{_MINE}(?:new\s+)?(?:employer|job|profession|arbeitgeber)\s+(?:is|ist)\b"
    ),
    "name called": (
        rf"{_MINE}(?:full\s+|first\s+)?name\s+(?:is|ist)\b"
        rf"|{_WHO}(?:called|named|hei\u00dfe)\b|\bcall\s+me\b"
    ),
    "birthday": rf"{_MINE}(?:birthday|date\s+of\s+birth|geburtstag)\b",
    "age years old turned": rf"{_WHO}(?:turned\s+\d+|\d+\s+years\s+old)\b|{_MINE}age\s+is\b",
}


@cache
def _wordings() -> dict[str, re.Pattern[str]]:
    """Compiled when the first text is looked at: few programs that load this look at any."""
    return {words: re.compile(wording, re.IGNORECASE) for words, wording in _TOPICS.items()}


def topics(content: str) -> set[str]:
    """What a text is about, each topic as words to look for."""
    return {words for words, wording in _wordings().items() if wording.search(content)}


_UNTRUSTED = (Trust.TOOL, Trust.WEB)

LONGEST = 4_000
"""Characters of one memory. What is longer is a document, not something remembered."""

_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{200,}")
_MARKUP = re.compile(r"<(?:!doctype|html|script|style|div|table)\b", re.IGNORECASE)
_TRACE = re.compile(r"Traceback \(most recent call last\)|^\s+at [\w.$]+\(.*\)$", re.MULTILINE)


def refusal(draft: MemoryDraft, redact: Redactor) -> str:
    """Why a draft is not worth remembering; empty when it is."""
    content = draft.content.strip()
    if not content or not words.spoken(content):
        return "it is empty: say what to remember in a sentence"
    if len(content) > LONGEST:
        return (
            f"it has {len(content)} characters and {LONGEST} is the most: "
            "remember the point of it, not the whole"
        )
    if redact(content) != content or secrets(content):
        return "it holds a secret: remember where the secret is kept, never the secret itself"
    if reason := _no_fact(draft, content):
        return reason
    if draft.trust in _UNTRUSTED and gives_orders(f"{draft.source}\n{content}"):
        return "it tells the agent what to do and no person said it: remember facts, not orders"
    return ""


def _no_fact(draft: MemoryDraft, content: str) -> str:
    told = draft.turn_id is not None and draft.kind is not MemoryKind.CONVERSATION
    if told and (is_small_talk(content) or is_question(content)):
        return "it is no fact: greetings, thanks and questions are not remembered"
    return "it is the output of a tool: say in a sentence what it means" * _is_dump(content)


def _is_dump(content: str) -> bool:
    if _BLOB.search(content) or _MARKUP.search(content) or _TRACE.search(content):
        return True
    if len(content) <= _SHORT:
        return not any(character.isalpha() for character in content)
    letters = sum(character.isalpha() or character.isspace() for character in content)
    structured = content[0] in "{[" and content[-1] in "}]"
    return structured or letters < len(content) * _LEAST_LETTERS


_SHORT = 80
_LEAST_LETTERS = 0.5


def outranked(draft: MemoryDraft, old: Memory) -> str:
    """Why a draft may not take the place of a memory; empty when it may."""
    if draft.trust in _UNTRUSTED and old.trust.rank > draft.trust.rank:
        return (
            f"#{old.id} is trusted more than this: write both, "
            "and let the user say which of them is true"
        )
    return ""


_ALIKE = 0.6
"""So many of the telling words of the shorter are in the other, and they are not just one."""
NEAR = 0.82
"""So near in meaning that the words do not matter."""
_RELATED = 0.6
_SHARED = 0.3
"""Related in meaning, and with words in common. Measured: see tests/unit/memory/test_gate.py."""


def similar(
    draft: MemoryDraft, known: Iterable[Memory], cosines: Mapping[int, float]
) -> list[Memory]:
    """Which memories say nearly the same or the contrary, so that both should not just stand.

    Those about the same topic come first, then the nearest.
    """
    found = [
        memory
        for memory in known
        if memory.kind is not MemoryKind.CONVERSATION
        and memory.valid_to is None
        and alike(draft.content, memory.content, cosines.get(memory.id, 0.0))
    ]
    about = topics(draft.content)
    return sorted(
        found,
        key=lambda memory: (
            about.isdisjoint(topics(memory.content)),
            -cosines.get(memory.id, 0.0),
            memory.id,
        ),
    )


def alike(one: str, other: str, cosine: float) -> bool:
    """Whether one of two texts may stand in for the other, or contradicts it."""
    if cosine >= NEAR or topics(one) & topics(other):
        return True
    share, together = overlap(one, other)
    return (share >= _ALIKE and together > 1) or (cosine >= _RELATED and share >= _SHARED)


def overlap(one: str, other: str) -> tuple[float, int]:
    """How many of the telling words of the shorter of two texts are in the other: share, number."""
    first, second = set(words.asked(normalised(one))), set(words.asked(normalised(other)))
    if not first or not second:
        return 0.0, 0
    together = len(first & second)
    return together / min(len(first), len(second)), together


_DERIVED = 0.5


def origins(content: str, said: str, heard: Iterable[Memory]) -> list[Memory]:
    """Which of the memories somebody had in mind a text is drawn from.

    Words that the user said before it are the user's own.
    """
    own = set(words.asked(said))
    news = set(words.asked(content)) - own
    if not news:
        return []
    return [
        memory
        for memory in heard
        if len(news & set(words.asked(memory.content))) / len(news) >= _DERIVED
    ]


_TOLD = 0.6


def told_by_user(content: str, said: str) -> bool:
    """Whether the words of a text are mostly the user's own."""
    telling = set(words.asked(content))
    return bool(telling) and len(telling & set(words.spoken(said))) / len(telling) >= _TOLD


def least_trusted(trusts: Iterable[Trust]) -> Trust:
    """The trust of something that was made from several things."""
    return min(trusts, key=lambda trust: trust.rank)
