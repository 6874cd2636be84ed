"""Models: which there are, and which is asked."""

from fastapi import APIRouter

from long_running_agents.app import App
from long_running_agents.domain.token import Scope
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Administering, Known, Reading, check
from long_running_agents.server.switching import Switching
from long_running_agents.server.wire.settings import (
    ModelChoice,
    ModelChosen,
    ModelList,
    ModelTold,
    ModelTrial,
    ModelTried,
)


class ModelRoutes:
    """Listing, choosing and trying."""

    def __init__(self, app: App, switching: Switching) -> None:
        self._app = app
        self._switching = switching

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(prefix="/api/models", tags=["models"], route_class=JsonRoute)
        router.get("")(self.list_all)
        scope = {"x-scope": "admin; chat for one session"}
        router.post("/select", openapi_extra=scope)(self.select)
        router.post("/test")(self.test)
        return router

    async def list_all(self, caller: Reading) -> ModelList:
        """List the models that are set, found on the server's machine, or embedded."""
        del caller
        current = self._app.models.usual
        found = [ModelTold.of(each, current) for each in await self._switching.listed()]
        if current and not any(each.current for each in found):
            own = ModelTold(
                name=current,
                source="settings",
                current=True,
                context_window=None,
                installed=True,
                note="",
            )
            found.insert(0, own)
        return ModelList(current=current, models=found)

    async def select(self, caller: Known, choice: ModelChoice) -> ModelChosen:
        """Ask another model from the next step on, for all sessions or for one."""
        if choice.session_id is None:
            check(caller, Scope.ADMIN)
            done = await self._switching.select(choice.name)
            return ModelChosen(model=done.model, session_id=None, note=done.note)
        check(caller, Scope.CHAT)
        service = self._app.sessions.of(caller.owner)
        await service.get(choice.session_id)
        name = await self._switching.nameable(choice.name)
        await service.choose_model(choice.session_id, name)
        return ModelChosen(model=name, session_id=choice.session_id)

    async def test(self, caller: Administering, trial: ModelTrial) -> ModelTried:
        """Ask a model for one word: does it answer, how fast, and if not, why."""
        del caller
        return ModelTried.of(await self._switching.try_out(trial.model))
