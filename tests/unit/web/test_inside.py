"""What turns documents into text, tried in this process; the contract tests try it in its own."""

import pytest

from long_running_agents.web.inside import convert as inside_convert
from long_running_agents.web.inside.convert import convert_document, hiding, known

URL = "https://site.test/folder/"


def read(html, **options):
    given = {"media_type": "text/html", "charset": "utf-8", "url": URL, "most": 10_000}
    return convert_document(html.encode("utf-8", "surrogatepass"), **{**given, **options})


def test_html_becomes_markdown():
    page = read(
        "<title> A \n page </title><h2>Head</h2><ul><li>one<li>two</ul>"
        "<table><tr><th>a<th>b<tr><td>1<td>2</table><pre>code  here</pre>"
        "<p>An <img src=x.png alt='old map'> and a <a href='../x'>link</a>."
    )

    assert page["title"] == "A page"
    for part in ("## Head", "- one\n- two", "| 1 | 2 |", "code  here", "An old map and a"):
        assert part in page["text"]
    assert "[link](https://site.test/x)" in page["text"]
    assert "x.png" not in page["text"]


@pytest.mark.parametrize(
    "html",
    [
        "<!-- SECRET -->",
        "<p hidden>SECRET</p>",
        "<p style='display:none'>SECRET</p>",
        "<p style='DISPLAY : none !important'>SECRET</p>",
        "<div style='visibility:hidden'><p>SECRET</p></div>",
        "<p style='color:red;opacity:0'>SECRET</p>",
        "<p style='font-size:0'>SECRET</p>",
        "<p style='position:absolute;left:-9999px'>SECRET</p>",
        "<style>.x, p { } .y{color:red;display:none}</style><p class=y>SECRET</p>",
        "<style>#z{opacity:0}</style><p id=z>SECRET</p>",
        "<script>var a = 'SECRET'</script>",
        "<style>p:after{content:'SECRET'}</style>",
        "<template><p>SECRET</p></template>",
        "<noscript>SECRET</noscript>",
        "<svg><text>SECRET</text></svg>",
        "<input type=hidden value=SECRET>",
        "<img src='data:image/png;base64,SECRET'>",
        "<iframe srcdoc='SECRET'>SECRET</iframe>",
        "<meta name=description content=SECRET>",
    ],
)
def test_what_nobody_sees_is_not_read(html):
    page = read(f"<body><p>Before</p>{html}<p>After</p>")

    assert "SECRET" not in page["text"]
    assert "Before" in page["text"]
    assert "After" in page["text"]


def test_only_rules_that_hide_hide():
    assert hiding("<style>.a{display:block}.b{opacity:0.5}.c d{display:none}</style>") == []
    assert hiding("<style>p.a,#b{display:none}</style>") == ["p.a", "#b"]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u200bb\u2060c\ufeff", "abc"),
        ("a\u202eb\u2066c\u2069", "abc"),
        ("plain" + "".join(chr(0xE0000 + ord(sign)) for sign in "order"), "plain"),
        ("x" + "".join(chr(0xE0100 + number) for number in range(50)), "x"),
        ("a\u200c\u200d\u200c\u200db", "ab"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("\x1b[31mred\x07", "[31mred"),
        ("one\r\ntwo\n\n\n\n\n\nthree\tfour", "one\ntwo\n\n\nthree\tfour"),
        ("lone \ud800 half", "lone  half"),
        ("Grüße 你好 \U0001f642", "Grüße 你好 \U0001f642"),
    ],
)
def test_characters_that_nobody_sees_are_removed(text, seen):
    assert inside_convert.removed(text) == seen


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("UTF-8", "utf-8"),
        ("latin1", "cp1252"),
        ("'windows-1251'", "cp1251"),
        ("gbk", "gb18030"),
        ("rot13", ""),
        ("base64", ""),
        ("unicode_escape", ""),
        ("utf-7", ""),
        ("punycode", ""),
        ("", ""),
        ("no\0thing", ""),
    ],
)
def test_only_charsets_of_the_web_are_known(label, name):
    assert known(label) == name


def test_a_long_text_is_cut_with_a_note():
    page = read("x" * 200, media_type="text/plain", most=100)

    assert len(page["text"]) == 100
    assert page["notes"] == ["Only the first 100 characters of the text are kept."]


def test_what_is_no_html_says_so():
    assert read("\0" * 5000)["error"] == "it is no HTML"
