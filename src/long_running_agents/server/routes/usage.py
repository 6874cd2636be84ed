"""Usage and activity: what was spent, and what happened last."""

from datetime import UTC, datetime
from typing import Annotated, get_args

from fastapi import APIRouter, Query

from long_running_agents.agent.usage import UsageService
from long_running_agents.app import App
from long_running_agents.domain import days, events
from long_running_agents.domain.days import Range
from long_running_agents.domain.events import Recorded
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import UsageError
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Reading
from long_running_agents.server.parameters import Limit
from long_running_agents.server.wire.usage import ActivityTold, EventTold, UsageTold
from long_running_agents.store.events import Place
from long_running_agents.store.tables import microseconds, moment

_PLACE = r"^[0-9]{1,16}\.[0-9]{1,15}\.[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
_LAST = microseconds(datetime(9000, 1, 1, tzinfo=UTC))
_TYPES = frozenset(
    shape.model_fields["type"].default for shape in get_args(get_args(events.Event)[0])
)


class UsageRoutes:
    """The books and the log of all sessions."""

    def __init__(self, app: App, clock: Clock) -> None:
        self._app = app
        self._clock = clock

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(prefix="/api", tags=["usage"], route_class=JsonRoute)
        router.get("/usage")(self.usage)
        router.get("/activity")(self.activity)
        return router

    async def usage(
        self,
        caller: Reading,
        wanted: Annotated[
            Range, Query(alias="range", description="Calendar days, today included.")
        ] = Range.TODAY,
        tz: Annotated[
            str | None,
            Query(
                max_length=64,
                description="Where days begin, such as Europe/Berlin; the server's zone if unset.",
            ),
        ] = None,
    ) -> UsageTold:
        """Say what was spent: in all, by model, by day and by session."""
        zone = None if tz is None else days.zone_of(tz)
        service = UsageService(self._app.database, self._clock, caller.owner)
        return UsageTold.of(wanted, await service.spent(wanted, zone))

    async def activity(
        self,
        caller: Reading,
        limit: Limit = 50,
        before: Annotated[
            str | None, Query(pattern=_PLACE, description="The 'next' of the page before.")
        ] = None,
        types: Annotated[
            list[str],
            Query(alias="type", max_length=50, description="Only events of these types."),
        ] = [],  # noqa: B006 - never changed
    ) -> ActivityTold:
        """Show the latest events of all sessions, the newest first."""
        if unknown := set(types) - _TYPES:
            raise UsageError(
                f"There are no events of the type {min(unknown)!r}.",
                hint=f"There are {', '.join(sorted(_TYPES))}.",
            )
        found = await self._app.sessions.of(caller.owner).activity(
            limit=limit + 1, types=types, before=None if before is None else _place(before)
        )
        shown = found[:limit]
        return ActivityTold(
            activity=[EventTold.of(each) for each in shown],
            next=_cursor(shown[-1]) if len(found) > limit else None,
        )


def _cursor(recorded: Recorded) -> str:
    return f"{microseconds(recorded.at)}.{recorded.seq}.{recorded.session_id}"


def _place(cursor: str) -> Place:
    at, seq, session_id = cursor.split(".", 2)
    # No event is later, and no calendar goes farther.
    return moment(min(int(at), _LAST)), SessionId(session_id), int(seq)
