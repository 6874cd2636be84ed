"""From bytes to text, by what kind of document they are."""

from typing_extensions import TypedDict

from long_running_agents.web.inside import invisible
from long_running_agents.web.inside.charsets import decode

_LONGEST_TITLE = 300


class Link(TypedDict):
    """A link of a page."""

    url: str
    text: str
    kind: str
    """The class it bears in the page."""


class Converted(TypedDict):
    """What became of a document."""

    title: str
    text: str
    links: list[Link]
    notes: list[str]
    error: str
    """Why nothing became of it."""


def convert(body: bytes, *, media_type: str, charset: str, url: str, most: int) -> Converted:
    """Turn a document into text."""
    answer = Converted(title="", text="", links=[], notes=[], error="")
    if media_type == "application/pdf":
        from long_running_agents.web.inside import pdf  # noqa: PLC0415 - only where it is needed

        pdf.read(body, answer, most)
    elif media_type in ("text/html", "application/xhtml+xml"):
        from long_running_agents.web.inside import readable  # noqa: PLC0415 - as above

        readable.read(decode(body, charset, html=True), url, answer)
    else:
        answer["text"] = decode(body, charset, html=False)
    answer["title"] = " ".join(invisible.removed(answer["title"]).split())[:_LONGEST_TITLE]
    answer["text"] = invisible.removed(answer["text"]).strip()
    if len(answer["text"]) > most:
        answer["notes"].append(f"Only the first {most} characters of the text are kept.")
        answer["text"] = answer["text"][:most]
    return answer
