"""`/v1/models`: what can be asked."""

from fastapi import APIRouter
from pydantic import BaseModel

from long_running_agents.app import App
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import NotFound
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Chatting
from long_running_agents.server.failures import OPENAI_ERRORS
from long_running_agents.server.openai import naming


class ModelCard(BaseModel):
    """One name that can be asked."""

    id: str
    object: str = "model"
    created: int
    owned_by: str = "long-running-agents"


class ModelList(BaseModel):
    """All of them."""

    object: str = "list"
    data: list[ModelCard]


class ModelListRoutes:
    """The names of the agent and its models."""

    def __init__(self, app: App, clock: Clock) -> None:
        self._app = app
        self._created = int(clock.now().timestamp())

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(tags=["openai"], responses=OPENAI_ERRORS, route_class=JsonRoute)
        router.get("/v1/models")(self.models)
        router.get("/v1/models/{name:path}")(self.model)
        return router

    async def models(self, caller: Chatting) -> ModelList:
        """List what can be asked: the agent first, then its models."""
        del caller
        return ModelList(data=self._cards())

    async def model(self, name: str, caller: Chatting) -> ModelCard:
        """Look one up."""
        del caller
        for card in self._cards():
            if card.id == name:
                return card
        raise NotFound(f"There is no model {name!r}.", hint="/v1/models lists them.")

    def _cards(self) -> list[ModelCard]:
        return [
            ModelCard(id=name, created=self._created) for name in naming.listed(self._app.loaded)
        ]
