import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.errors import UsageError
from long_running_agents.workspace.files import Wanted, encoding_of, kind_of, read_page

TEXTS = st.text(alphabet="aä\N{SNOWMAN}\n\r", max_size=60)


class Bytes:
    """A file in memory that counts what is read of it."""

    def __init__(self, content):
        self.content = content
        self.most = 0

    def __call__(self, offset, count):
        self.most = max(self.most, count)
        return self.content[offset : offset + count]


def page(content, **wanted):
    return read_page(
        Bytes(content), len(content), Wanted(**{"lines": 10, "characters": 1000, **wanted})
    )


@given(TEXTS, st.integers(1, 4), st.integers(1, 7))
def test_pages_together_are_the_whole_file(text, lines, characters):
    content = text.encode()
    seen, place, count = {}, (1, 1), 0

    while place is not None:
        line, column = place
        found = page(content, line=line, column=column, lines=lines, characters=characters)
        for number, part in enumerate(found.lines, found.first):
            seen[number] = seen.get(number, "") + part
        assert found.next is None or found.next > place
        place = found.next
        count += 1

    whole = text.removesuffix("\n").split("\n") if text else []
    assert [line.rstrip("\r") for line in seen.values()] == [line.rstrip("\r") for line in whole]
    assert found.total == len(whole)


@given(TEXTS, st.integers(-5, 8).filter(bool))
def test_any_line_can_be_begun_with(text, line):
    whole = text.removesuffix("\n").split("\n") if text else []
    if line > max(1, len(whole)):
        with pytest.raises(UsageError, match="There is no line"):
            page(text.encode(), line=line)
        return
    first = line if line > 0 else max(1, len(whole) + line + 1)

    found = page(text.encode(), line=line, lines=1)

    assert found.first == first
    assert found.lines == tuple(part.removesuffix("\r") for part in whole[first - 1 : first])


def test_a_huge_file_is_never_held_in_memory():
    class Endless(Bytes):
        """64 megabytes of lines that are made as they are read."""

        def __call__(self, offset, count):
            self.most = max(self.most, count)
            return b"0123456\n" * (min(count, (64 << 20) - offset) // 8)

    file = Endless(b"")

    found = read_page(file, 64 << 20, Wanted(line=8_000_000, lines=2, characters=100))

    assert (found.lines, found.total) == (("0123456", "0123456"), 8 << 20)
    assert file.most <= 1 << 20


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        (b"plain", "utf-8"),
        ("ä".encode(), "utf-8"),
        (b"\xef\xbb\xbfa", "utf-8"),
        (b"\xff\xfea\0", "utf-16-le"),
        ("grün".encode("latin-1"), "latin-1"),
        (b"a\0b", None),
        (b"\x01\x02\x03\xff" * 9, None),
        (b"", "utf-8"),
    ],
)
def test_text_is_told_from_something_else(head, codec):
    found = encoding_of(head, whole=True)

    assert (None if found is None else found.codec) == codec


def test_a_character_cut_at_the_end_of_the_head_is_no_error():
    assert encoding_of("aä".encode()[:-1], whole=False).codec == "utf-8"
    assert encoding_of("aä".encode()[:-1], whole=True).codec == "latin-1"


@given(st.binary(max_size=40))
def test_what_is_taken_for_text_comes_back_as_the_same_bytes(content):
    encoding = encoding_of(content, whole=True)
    if encoding is None or encoding.codec.startswith(("utf-16", "utf-32")):
        return
    try:
        text = encoding.decoded(content)
    except UnicodeDecodeError:
        # A mark of UTF-8 before something else: the tools say so.
        assert encoding.mark
        return
    assert encoding.encoded(text) == content


def test_kinds_are_known_by_their_first_bytes():
    assert kind_of(b"PAR1....") == "a Parquet table"
    assert kind_of(b"\0\0\0\x18ftypmp42") == "MP4 video or audio"
    assert kind_of(b"\0" * 257 + b"ustar") == "a tar archive"
    assert kind_of(b"\x00\x01") == "binary data of a kind nobody here knows"
