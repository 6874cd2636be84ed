"""Tasks: what sessions have to do."""

from typing import Annotated

from fastapi import APIRouter, Query

from long_running_agents.app import App
from long_running_agents.domain.task import TaskStatus, summary
from long_running_agents.errors import UsageError
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Chatting, Reading
from long_running_agents.server.parameters import Limit, Number, Offset, OneSession, SessionKey
from long_running_agents.server.wire.sessions import (
    TaskChange,
    TaskList,
    TaskTold,
    TaskTree,
    tree,
)


class TaskRoutes:
    """The tasks of one session, and of all."""

    def __init__(self, app: App) -> None:
        self._app = app

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(prefix="/api", tags=["tasks"], route_class=JsonRoute)
        router.get("/tasks")(self.list_all)
        router.get("/sessions/{session_id}/tasks")(self.of_session)
        router.patch("/sessions/{session_id}/tasks/{number}")(self.change)
        return router

    async def list_all(
        self,
        caller: Reading,
        session_id: OneSession = None,
        status: Annotated[TaskStatus | None, Query(description="Only in this status.")] = None,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> TaskList:
        """List tasks of all sessions, those changed last first."""
        service = self._app.sessions.of(caller.owner)
        if session_id is None:
            found = await service.every_task(status=status, limit=limit + 1, offset=offset)
        else:
            every = await service.tasks(session_id)
            chosen = [task for task in every if status in (None, task.status)]
            found = chosen[offset : offset + limit + 1]
        return TaskList(
            tasks=[TaskTold.of(task) for task in found[:limit]],
            next=offset + limit if len(found) > limit else None,
        )

    async def of_session(self, caller: Reading, session_id: SessionKey) -> TaskTree:
        """Show a session's tasks as a list and as a tree."""
        found = await self._app.sessions.of(caller.owner).tasks(session_id)
        told = [TaskTold.of(task) for task in found]
        return TaskTree(session_id=session_id, tasks=told, tree=tree(told), summary=summary(found))

    async def change(
        self, caller: Chatting, session_id: SessionKey, number: Number, change: TaskChange
    ) -> TaskTold:
        """Move a task to another status, or call it otherwise."""
        if change.status is None and change.title is None:
            raise UsageError("Nothing is to change.", hint="Give a status or a title.")
        task = await self._app.sessions.of(caller.owner).change_task(
            session_id, number, status=change.status, title=change.title
        )
        return TaskTold.of(task)
