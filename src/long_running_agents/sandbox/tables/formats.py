"""What kind of table a file is: by its first bytes, then by its name."""

from enum import StrEnum

from long_running_agents.errors import UsageError


class Form(StrEnum):
    """How a table is written."""

    CSV = "CSV"
    JSON_LINES = "JSON lines"
    JSON = "JSON"
    PARQUET = "Parquet"
    WORKBOOK = "Excel"


GZIP = b"\x1f\x8b"
_PACKED = (b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_LINES = (".jsonl", ".ndjson", ".jsonlines")
_SEPARATORS = ",\t;|"


def form_of(name: str, head: bytes) -> Form:
    """The form of a table.

    Args:
        name: The file's name, without the ending of its packing.
        head: Its first bytes, unpacked.

    Raises:
        UsageError: It is no table that can be looked at.
    """
    name = name.lower()
    if head.startswith(b"PAR1"):
        return Form.PARQUET
    if head.startswith(_WORKBOOKS):
        return Form.WORKBOOK
    if head.startswith(_PACKED):
        raise UsageError("The file is packed.", hint="Unpack it first; only gzip is read packed.")
    if b"\0" in head:
        raise UsageError(
            "The file is no table.",
            hint="CSV, TSV, JSON lines, Parquet and Excel can be looked at.",
        )
    beginning = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if name.endswith(_LINES) or beginning.startswith(b"{"):
        return Form.JSON_LINES
    return Form.JSON if beginning.startswith(b"[") and name.endswith(".json") else Form.CSV


def separator(name: str, head: str) -> str:
    """What stands between the fields of a table: what its first line has most of."""
    if name.lower().endswith((".tsv", ".tab")):
        return "\t"
    outside = "".join(head.split("\n", 1)[0].split('"')[::2])
    best = max(_SEPARATORS, key=outside.count)
    return best if best in outside else ","
