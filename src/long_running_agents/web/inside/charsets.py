"""From bytes to signs, as browsers do it: by the mark, the header, the page, or a guess."""

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(
    rb"""charset\s{0,9}=\s{0,9}["']?\s{0,9}([a-zA-Z0-9_:.-]{1,40})""", re.IGNORECASE
)
_LOOKED_AT = 2048
_OTHERS = {
    # What pages call by a narrow name and write in a wider one.
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
_KNOWN = frozenset(
    {"utf-8", "utf-16", "utf-16-le", "utf-16-be", "gb18030", "big5hkscs", "cp932", "cp949"}
    | {"euc_jp", "iso2022_jp", "koi8-r", "koi8-u", "mac-roman", "cp866", "cp874"}
    | {f"cp125{number}" for number in range(9)}
    | {f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)}
)
"""The web's own. Python has more, some of which are no charsets at all."""


def decode(body: bytes, charset: str, *, html: bool) -> str:
    """Read bytes as text; what cannot be read becomes a sign that says so."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    name = known(charset) or (declared(body) if html else "")
    if name:
        return body.decode(name, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        # A body that was cut may end in the middle of a sign.
        if error.reason == "unexpected end of data":
            return body.decode("utf-8", "replace")
        return body.decode("cp1252", "replace")


def declared(body: bytes) -> str:
    """The charset that a page names near its beginning, if it can be."""
    found = _DECLARED.search(body[:_LOOKED_AT])
    name = known(found[1].decode("ascii")) if found else ""
    # A page whose declaration can be read as ASCII is not in UTF-16.
    return "utf-8" if name.startswith("utf-16") else name


def known(label: str) -> str:
    """Python's name for a charset of the web; empty for anything else."""
    try:
        name = codecs.lookup(label.strip().strip("\"'")).name
    except (LookupError, ValueError, UnicodeError):
        return ""
    name = _OTHERS.get(name, name)
    return name if name in _KNOWN else ""
