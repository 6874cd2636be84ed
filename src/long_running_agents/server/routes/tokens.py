"""Tokens over HTTP, for whoever may administer."""

from http import HTTPStatus

from fastapi import APIRouter
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from long_running_agents.domain.ids import TokenId
from long_running_agents.domain.token import Caller, Scope, Token
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Administering
from long_running_agents.server.tokens import USUAL, Issued, Tokens, Wish


class NewToken(BaseModel):
    """The token that is wanted."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"name": "phone", "scopes": ["read", "chat"]}},
    )

    name: str = Field(min_length=1, max_length=100)
    owner: str | None = Field(default=None, min_length=1, max_length=100)
    """Whose things it opens; the owner of the home unless given."""
    scopes: list[Scope] = Field(default=sorted(USUAL), min_length=1)
    expires_at: AwareDatetime | None = None


class KnownToken(BaseModel):
    """What is known of a token."""

    id: str
    owner: str
    name: str
    scopes: list[Scope]
    created_at: AwareDatetime
    used_at: AwareDatetime | None
    """To the minute."""
    expires_at: AwareDatetime | None
    revoked_at: AwareDatetime | None


class IssuedToken(KnownToken):
    """A new token."""

    secret: str
    """The token itself. Nobody can show it again."""


class TokenList(BaseModel):
    """All tokens."""

    tokens: list[KnownToken]


class TokenRoutes:
    """List, create, rotate and revoke."""

    def __init__(self, tokens: Tokens, owner: str) -> None:
        self._tokens = tokens
        self._owner = owner

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(prefix="/api/tokens", tags=["tokens"], route_class=JsonRoute)
        router.get("")(self.every)
        router.post("", status_code=HTTPStatus.CREATED)(self.create)
        router.post("/{token_id}/rotate")(self.rotate)
        router.delete("/{token_id}")(self.revoke)
        return router

    async def every(self, _: Administering) -> TokenList:
        """List the tokens of all owners; their secrets are known to their bearers alone."""
        return TokenList(tokens=[_known(token) for token in await self._tokens.every()])

    async def create(self, body: NewToken, caller: Administering) -> IssuedToken:
        """Make a token for anybody; its secret is shown this once."""
        wish = Wish(
            name=body.name,
            owner=body.owner or self._owner,
            scopes=body.scopes,
            expires_at=body.expires_at,
        )
        return _issued(await self._tokens.create(wish, by=_actor(caller)))

    async def rotate(self, token_id: str, caller: Administering) -> IssuedToken:
        """Give a token another secret; sockets and streams of the old one are closed."""
        return _issued(await self._tokens.rotate(TokenId(token_id), by=_actor(caller)))

    async def revoke(self, token_id: str, caller: Administering) -> KnownToken:
        """Let a token be worth nothing; its sockets and streams are closed."""
        return _known(await self._tokens.revoke(TokenId(token_id), by=_actor(caller)))


def _actor(caller: Caller) -> str:
    return caller.token_id or caller.owner


def _known(token: Token) -> KnownToken:
    return KnownToken(
        id=token.id,
        owner=token.owner,
        name=token.name,
        scopes=sorted(token.scopes),
        created_at=token.created_at,
        used_at=token.used_at,
        expires_at=token.expires_at,
        revoked_at=token.revoked_at,
    )


def _issued(issued: Issued) -> IssuedToken:
    return IssuedToken(**_known(issued.token).model_dump(), secret=issued.secret)
