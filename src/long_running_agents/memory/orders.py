"""Orders: text that wants something done, where it should only tell something.

Only what no person said is looked at this way. It cannot find every order: what it misses is
stored with the label of its source, and quoted as data wherever it is shown.
"""

import base64
import binascii
import re
import unicodedata

_VERB = (
    r"(?:send|post|upload|forward|e-?mail|mail|exfiltrate|leak|include|insert|append|reveal|share|"
    r"disclose|run|execute|call|invoke|reply|respond|answer|say|tell|recommend|promote|visit|open|"
    r"browse|fetch|download|install|delete|remove|erase|pay|buy|transfer|wire|approve|confirm|"
    r"grant|trust|obey|follow|ignore|skip|disable|copy|cc|bcc|use|write|add|store|save|click)"
)
_ORDERS = (
    (
        r"\b(?:ignore|disregard|forget|override|bypass|drop)\b.{0,40}"
        r"\b(?:instruction|rule|prompt|previous|above|prior|guideline|polic|safety|earlier|system)"
    ),
    (
        rf"\b(?:from now on|from here on|henceforth|going forward|always|never|whenever|every time|"
        rf"each time|in (?:the )?future|next time|at the end of (?:every|each)|before (?:every|each|any)"
        rf"|after (?:every|each))\b.{{0,80}}\b{_VERB}\b"
    ),
    (
        rf"\b{_VERB}\b.{{0,80}}\b(?:from now on|every time|whenever|in every|to every|in all (?:future|"
        rf"your)|without (?:asking|telling|confirm)|do not (?:tell|mention|ask)|don'?t (?:tell|mention"
        rf"|ask)|silently|secretly)\b"
    ),
    r"\byou (?:must|shall|should|are now|will now|have to|need to|are required to|may now)\b",
    (
        rf"\b(?:assistant|agent|ai|llm|chatbot|language model|model|bot|gpt|claude)s?\b\W{{0,3}}"
        rf"(?:reading this|must|shall|should|has to|have to|need to|needs to|please|:|,|{_VERB}\b)"
    ),
    (
        rf"\b(?:remember|memori[sz]e|note|keep in mind|add to (?:your )?memory|save to memory)\b\W"
        rf".{{0,60}}\b(?:always|never|{_VERB}|user (?:wants|has|agreed|approved|allow)|is trusted)"
    ),
    (
        r"\b(?:system|developer|admin(?:istrator)?|root) (?:prompt|message|note|instruction|override|"
        r"notice|mode|command)s?\b"
    ),
    (
        r"<\/?\s*(?:system|assistant|user|developer|tool|memory|memories|instructions?|im_start|im_end"
        r"|function_calls?|context|recalled)\b|<\|[a-z_]+\|>|\[/?(?:inst|system|sys)\]|<<\s*sys"
    ),
    r"(?:^|\n)\W{0,4}(?:system|assistant|developer|instructions?|new task|important)\W{0,4}:",
    (
        r"\b(?:the )?user (?:has )?(?:already )?(?:pre-?)?(?:approved|authori[sz]ed|agreed to|consent"
        r"|granted|allow(?:s|ed)|gave permission|wants you|asked you)\b"
    ),
    (
        rf"(?:^|[.!?:;\n\"'(]\s*|\b(?:please|to|then|and|just|kindly)\s+){_VERB}\b.{{0,60}}"
        r"(?:https?:|www\.|[\w.+-]+@[\w-]+\.|\bpassword|\btoken|\bapi.?key|\bsecret|\bcredential|"
        r"\bssh\b|\.env\b|\brm -|\bcurl\b|\bsudo\b|\bbitcoin\b|\biban\b|\bwallet\b|\|\s*(?:ba)?sh)"
    ),
    # The same in a few other languages.
    r"\b(?:ignoriere|vergiss|missachte)\b.{0,40}\b(?:anweisung|regel|vorherig|bisherig|oben)",
    (
        r"\b(?:immer|ab jetzt|ab sofort|von nun an|k\u00fcnftig|jedes mal|du musst|merke dir)\b.{0,80}"
        r"\b(?:send|schick|leit|antwort|f\u00fchr|l\u00f6sch|\u00fcberweis|empfiehl|sag|teil)"
    ),
    r"\b(?:ignore[zr]?|oublie[zr]?)\b.{0,40}\b(?:instruction|consigne|pr\u00e9c\u00e9dent|r\u00e8gle)",
    (
        r"\b(?:toujours|d\u00e9sormais|\u00e0 partir de maintenant|tu dois|vous devez|souviens-toi)\b"
        r".{0,80}\b(?:envo|transf|r\u00e9pond|ex\u00e9cut|supprim|recommand|partag|pay)"
    ),
    r"\b(?:ignora|olvida)\b.{0,40}\b(?:instruccion|regla|anterior|istruzion|precedent)",
    (
        r"\b(?:siempre|a partir de ahora|debes|recuerda|sempre|d'ora in poi|devi|ricorda)\b.{0,80}"
        r"\b(?:env[i\u00ed]|reenv|respond|ejecut|borr|recomiend|comparte|invi|rispond|esegu|cancell)"
    ),
    (
        r"(?:\u5ffd\u7565|\u65e0\u89c6|\u7121\u8996).{0,20}(?:\u6307\u4ee4|\u6307\u793a|\u89c4\u5219|"
        r"\u4e4b\u524d|\u4ee5\u4e0a)|(?:\u4ece\u73b0\u5728\u8d77|\u603b\u662f|\u59cb\u7ec8|\u8bf7\u8bb0"
        r"\u4f4f|\u5fc5\u987b).{0,40}(?:\u53d1\u9001|\u8f6c\u53d1|\u56de\u590d|\u6267\u884c|\u5220\u9664)"
    ),
    (
        r"(?:\u7121\u8996|\u5fd8\u308c).{0,20}(?:\u3057\u3066|\u3066)|\u4eca\u5f8c.{0,30}(?:\u9001|\u5b9f"
        r"\u884c|\u524a\u9664)"
    ),
    (
        r"(?:\u0438\u0433\u043d\u043e\u0440\u0438\u0440\u0443\u0439|\u0437\u0430\u0431\u0443\u0434\u044c)"
        r".{0,40}(?:\u0438\u043d\u0441\u0442\u0440\u0443\u043a\u0446|\u043f\u0440\u0430\u0432\u0438\u043b"
        r"|\u043f\u0440\u0435\u0434\u044b\u0434\u0443\u0449)|\b(?:\u0432\u0441\u0435\u0433\u0434\u0430|"
        r"\u043e\u0442\u043d\u044b\u043d\u0435)\b.{0,60}(?:\u043e\u0442\u043f\u0440\u0430\u0432|\u0443\u0434"
        r"\u0430\u043b|\u0432\u044b\u043f\u043e\u043b\u043d)"
    ),
)
_ORDER = re.compile("|".join(f"(?:{order})" for order in _ORDERS), re.IGNORECASE | re.DOTALL)
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")


def gives_orders(content: str) -> bool:
    """Whether a text tells whoever reads it what to do."""
    plain = _plain(content)
    if _ORDER.search(plain) or _ORDER.search(plain.replace("_", " ").replace("-", " ")):
        return True
    return any(_ORDER.search(hidden) for hidden in _decoded(plain))


def _plain(content: str) -> str:
    """A text as it looks: one width, and nothing invisible in its words."""
    wide = unicodedata.normalize("NFKC", content)
    seen = "".join(letter for letter in wide if unicodedata.category(letter) not in ("Cf", "Mn"))
    return seen.replace("\u2019", "'")


def _decoded(content: str) -> list[str]:
    found: list[str] = []
    for match in _ENCODED.finditer(content):
        code = match.group().rstrip("=").replace("-", "+").replace("_", "/")
        try:
            found.append(base64.b64decode(code + "=" * (-len(code) % 4)).decode("utf-8"))
        except (binascii.Error, UnicodeDecodeError):
            continue
    return found
