"""Good candidates that read and write text."""

from tests.contract.skills.candidate import Candidate, shows, works

TEXTS = [
    Candidate(
        "slug_of",
        r'''
        import re
        import unicodedata

        GAPS = re.compile(r"[^a-z0-9]+")

        def slug_of(title: str, longest: int = 60) -> str:
            """A title as it may stand in an address."""
            plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
            return GAPS.sub("-", plain.lower()).strip("-")[: max(longest, 0)]
        ''',
        "a regular expression at the top",
        examples=(shows("uber-den-wolken", title="Über den Wolken!"),),
    ),
    Candidate(
        "word_counts",
        r'''
        import re
        from collections import Counter

        def word_counts(text: str, most: int = 10) -> dict[str, int]:
            """The most frequent words of a text, with how often they occur."""
            words = re.findall(r"\w+", text.casefold())
            return dict(Counter(words).most_common(max(most, 0)))
        ''',
        "returns a dict",
    ),
    Candidate(
        "csv_totals",
        '''
        import csv
        import io

        def csv_totals(table: str, column: str) -> dict[str, float]:
            """Sum a column of a CSV text by what the first column says."""
            rows = list(csv.DictReader(io.StringIO(table)))
            if not rows or column not in rows[0]:
                raise ValueError(f"there is no column {column}")
            first = next(iter(rows[0]))
            totals: dict[str, float] = {}
            for row in rows:
                totals[row[first]] = totals.get(row[first], 0.0) + float(row[column])
            return totals
        ''',
        "CSV, with an example because no derived text is a table",
        examples=(shows({"a": 3.0, "b": 5.0}, table="who,n\na,1\na,2\nb,5\n", column="n"),),
    ),
    Candidate(
        "flatten_json",
        '''
        import json
        from typing import Any

        def _walk(value: Any, path: str, found: dict[str, Any]) -> None:
            if isinstance(value, dict):
                for key, inner in value.items():
                    _walk(inner, f"{path}.{key}" if path else key, found)
            elif isinstance(value, list):
                for place, inner in enumerate(value):
                    _walk(inner, f"{path}[{place}]", found)
            else:
                found[path] = value

        def flatten_json(document: str) -> dict[str, Any]:
            """A JSON text as one flat table from paths to values."""
            found: dict[str, Any] = {}
            _walk(json.loads(document), "", found)
            return found
        ''',
        "a helper that calls itself, and anything as values",
        examples=(shows({"a[0]": 1, "a[1].b": None}, document='{"a": [1, {"b": null}]}'),),
    ),
    Candidate(
        "addresses_in",
        r'''
        import re

        _MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")

        def addresses_in(text: str) -> list[str]:
            """The mail addresses in a text, each once, in their order."""
            return list(dict.fromkeys(match.lower() for match in _MAIL.findall(text)))
        ''',
        "a private constant",
        examples=(shows(["ada@example.org"], text="Ask Ada@example.org or ada@example.org."),),
    ),
    Candidate(
        "shift_letters",
        '''
        from string import ascii_lowercase, ascii_uppercase

        def shift_letters(text: str, by: int = 13) -> str:
            """Shift each letter along the alphabet, as Caesar did."""

            def shifted(alphabet: str) -> str:
                cut = by % len(alphabet)
                return alphabet[cut:] + alphabet[:cut]

            table = str.maketrans(
                ascii_lowercase + ascii_uppercase,
                shifted(ascii_lowercase) + shifted(ascii_uppercase),
            )
            return text.translate(table)
        ''',
        "a function inside the function",
        examples=(shows("Uryyb", text="Hello"),),
    ),
    Candidate(
        "quote_block",
        '''
        import textwrap

        def quote_block(text: str, width: int = 72, mark: str = "> ") -> str:
            """Wrap a text and put a mark before each line.

            The width counts without the mark. Lines are broken at spaces only, so a long word may
            stick out; that is better than an address nobody can click.

            Args:
                text: What is quoted.
                width: The longest line.
                mark: What each line begins with.

            Returns:
                The lines, joined.
            """
            lines = textwrap.wrap(text, max(width, 20), break_long_words=False)
            return "\\n".join(f"{mark}{line}" for line in lines)
        ''',
        "a long docstring in the style of Google",
    ),
    Candidate(
        "closest_names",
        '''
        import difflib

        def closest_names(wanted: str, known: list[str], most: int = 3) -> list[str]:
            """Which known names are most like a misspelt one."""
            if most < 1:
                return []
            return difflib.get_close_matches(wanted, known, n=most, cutoff=0.5)
        ''',
        "a list of strings",
    ),
    Candidate(
        "query_fields",
        '''
        from urllib.parse import parse_qs, urlsplit

        def query_fields(url: str) -> dict[str, list[str]]:
            """What stands after the question mark of an address, by name."""
            return parse_qs(urlsplit(url).query, keep_blank_values=True)
        ''',
        "a submodule that is allowed while its parent is not",
    ),
    Candidate(
        "markdown_table",
        '''
        def markdown_table(rows: list[dict[str, str]]) -> str:
            """Rows as a Markdown table; the first row says which columns there are."""
            if not rows:
                return ""
            names = list(rows[0])
            lines = [names, ["---"] * len(names)]
            lines += [[row.get(name, "").replace("|", "/") for name in names] for row in rows]
            return "\\n".join(f"| {' | '.join(line)} |" for line in lines)
        ''',
        "a list of dicts",
    ),
    Candidate(
        "fingerprint_text",
        '''
        import base64
        import hashlib

        def fingerprint_text(text: str) -> str:
            """A short fingerprint of a text, to see whether two are the same."""
            return base64.b32encode(hashlib.sha256(text.encode()).digest()).decode()[:16].lower()
        ''',
        "hashes",
    ),
    Candidate(
        "plain_of_html",
        '''
        import html
        import re

        def plain_of_html(page: str) -> str:
            """The words of a piece of HTML without its marks."""
            words = re.sub(r"<[^>]*>", " ", page)
            return " ".join(html.unescape(words).split())
        ''',
        "reads HTML",
        examples=(shows("Fish & Chips", page="<p>Fish &amp; <b>Chips</b></p>"),),
    ),
    Candidate(
        "longest_palindrome",
        '''
        def longest_palindrome(text: str) -> str:
            """The longest piece of a text that reads the same from both ends."""
            best = ""
            for middle in range(len(text)):
                for left, right in ((middle, middle), (middle, middle + 1)):
                    while left >= 0 and right < len(text) and text[left] == text[right]:
                        if right - left + 1 > len(best):
                            best = text[left : right + 1]
                        left, right = left - 1, right + 1
            return best
        ''',
        "loops in loops, on text in any script",
        examples=(shows("たけやぶやけた", text="、たけやぶやけた。"),),
    ),
    Candidate(
        "line_of",
        '''
        def line_of(text: str, number: int) -> str | None:
            """One line of a text, counted from 1; null when there is none."""
            lines = text.splitlines()
            return lines[number - 1] if 0 < number <= len(lines) else None
        ''',
        "a result that may be null",
        examples=(works(text="a\nb", number=2),),
    ),
]
