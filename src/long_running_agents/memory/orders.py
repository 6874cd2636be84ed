"""Orders: text that wants something done, where it should only tell something.

Only what no person said is looked at this way. It cannot find every order: what it misses is
stored with the label of its source, and quoted as data wherever it is shown.
"""

import base64
import binascii
import re
import unicodedata
from functools import cache


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


def _decoded(content: str) -> list[str]:
    """What is hidden in a text as base64."""
    found: list[str] = []
    for match in _ENCODED.finditer(content):
        code = match.group().rstrip("=").replace("-", "+").replace("_", "/")
        try:
            found.append(base64.b64decode(code + "=" * (-len(code) % 4)).decode("utf-8"))
        except (binascii.Error, UnicodeDecodeError):
            continue
    return found
