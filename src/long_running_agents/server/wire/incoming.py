"""What clients say over a WebSocket."""

from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from long_running_agents.domain import strict_json
from long_running_agents.domain.grant import Lasting
from long_running_agents.domain.session import Mode
from long_running_agents.errors import UsageError
from long_running_agents.server.failures import wrong_fields

LONGEST = 200_000
"""Characters of a message; what is longer belongs into a file."""

Name = Annotated[str, Field(max_length=200)]


class _Frame(BaseModel):
    # Strict: "1" is no number and 1 is no yes. Fields of newer clients are let pass.
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class Message(_Frame):
    """Say something; it queues while a turn runs."""

    type: Literal["message"] = "message"
    content: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    mode: Annotated[Mode | None, Field(strict=False)] = None
    model: Name | None = None
    key: Name | None = None
    """What names the message: the same sent twice under the same key is one turn."""


class SetMode(_Frame):
    """Let the session go farther on its own, or less far."""

    type: Literal["set_mode"] = "set_mode"
    mode: Annotated[Mode, Field(strict=False)]


class Clear(_Frame):
    """Let the model begin anew."""

    type: Literal["clear"] = "clear"


class Ping(_Frame):
    """Ask whether anybody is there."""

    type: Literal["ping"] = "ping"


class Stop(_Frame):
    """Stop the turn that runs."""

    type: Literal["stop"] = "stop"


class Retry(_Frame):
    """Let the last turn go on from where it failed, was stopped or ran out."""

    type: Literal["retry"] = "retry"


class ApprovalResponse(_Frame):
    """Answer a question."""

    type: Literal["approval_response"] = "approval_response"
    approval_id: Name
    allowed: Annotated[bool, Field(validation_alias=AliasChoices("allowed", "approved"))]
    reason: Annotated[str, Field(max_length=2_000)] = ""
    lasting: Annotated[Lasting, Field(strict=False)] = Lasting.ONCE


class ApprovePlan(_Frame):
    """Let a plan be carried out."""

    type: Literal["approve_plan"] = "approve_plan"


class RevisePlan(_Frame):
    """Ask for another plan."""

    type: Literal["revise_plan"] = "revise_plan"
    feedback: Annotated[str, Field(max_length=LONGEST)] = ""


class Resume(_Frame):
    """Tell which event was heard last, to hear what was missed since."""

    type: Literal["resume"] = "resume"
    after: Annotated[int, Field(ge=0, le=2**53)]


Incoming = Annotated[
    Message
    | SetMode
    | Clear
    | Ping
    | Stop
    | Retry
    | ApprovalResponse
    | ApprovePlan
    | RevisePlan
    | Resume,
    Field(discriminator="type"),
]

INCOMING: TypeAdapter[Incoming] = TypeAdapter(Incoming)


def read(text: str) -> Incoming:
    """Understand what a client says.

    Raises:
        UsageError: It is not JSON, or not anything that can be said.
    """
    try:
        return INCOMING.validate_python(strict_json.parse(text))
    except ValidationError as error:
        wrong = wrong_fields(error.errors(include_input=False, include_url=False))[0]
        raise UsageError(
            f"{wrong.field}: {wrong.message}.", hint="docs/websocket.md lists what can be said."
        ) from None
