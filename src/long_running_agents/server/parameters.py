"""Parameters of paths and queries: what is let in at all."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import AfterValidator, AwareDatetime, Field

from long_running_agents.domain.ids import SessionId

SESSION_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
"""What a session may be called by programs."""
ID = r"^[A-Za-z0-9_-]{1,100}$"
"""What everything else is called that we name ourselves."""
PLAIN = r"^[^\x00-\x1f\x7f]*$"
"""Text in one line."""

_MOST = 2**53 - 1
"""The largest number that every reader of JSON understands."""
_FIRST_YEAR, _LAST_YEAR = 1970, 9000


def _sensible(moment: AwareDatetime) -> AwareDatetime:
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise ValueError(f"expected a year from {_FIRST_YEAR} to {_LAST_YEAR}")
    return moment


When = Annotated[AwareDatetime, AfterValidator(_sensible)]
"""A moment with its time zone."""
SessionKey = Annotated[
    SessionId, Path(pattern=SESSION_ID, description="The session.", examples=["my-session"])
]
OneSession = Annotated[
    SessionId | None, Query(pattern=SESSION_ID, description="Only of this session.")
]
Key = Annotated[str, Path(pattern=ID, description="Its id.")]
Number = Annotated[int, Path(ge=1, le=_MOST, description="Its number.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
Offset = Annotated[int, Query(ge=0, le=_MOST, description="How many to leave out.")]
After = Annotated[int, Query(ge=0, le=_MOST, description="Only what comes after this number.")]
Search = Annotated[
    str, Query(max_length=1000, pattern=PLAIN, description="Only where this was said.")
]
Line = Annotated[str, Field(min_length=1, max_length=300, pattern=PLAIN)]
"""A title or a name."""
