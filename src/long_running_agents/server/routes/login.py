"""Coming in with a browser: a token becomes a cookie that no script can read."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.credentials import COOKIE
from long_running_agents.server.door import Door
from long_running_agents.server.visit import visit_of


class Login(BaseModel):
    """The token to come in with."""

    model_config = ConfigDict(json_schema_extra={"example": {"token": "lra_…"}})

    token: Annotated[str, Field(max_length=200)]


class LoginRoutes:
    """Login and logout."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(tags=["login"], route_class=JsonRoute)
        router.post("/login", status_code=HTTPStatus.NO_CONTENT)(self.login)
        router.post("/logout", status_code=HTTPStatus.NO_CONTENT)(self.logout)
        return router

    async def login(self, body: Login, request: Request, response: Response) -> None:
        """Let a browser keep a token; the cookie lasts as long as the token does."""
        visit = visit_of(request.scope)
        # The control secret is for programs that can read the home, not for browsers.
        admitted = await self._door.admit(body.token, visit.address)
        token = admitted.token
        lasts = None if token is None else token.expires_at
        # Behind a proxy that speaks TLS, only the page's own address tells that it does.
        secure = visit.scheme == "https" or (visit.origin or "").startswith("https://")
        response.set_cookie(
            COOKIE,
            body.token,
            expires=lasts,
            secure=secure,
            httponly=True,
            samesite="strict",
        )

    async def logout(self, response: Response) -> None:
        """Take the token out of the browser; it stays good for others who have it."""
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
