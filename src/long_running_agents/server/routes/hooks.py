"""Webhooks over HTTP: what other programs deliver to begin a job."""

from http import HTTPStatus
from typing import Any

from fastapi import Request

from long_running_agents.domain.job import FiringOutcome
from long_running_agents.jobs.hooks import WebhookDelivery, receive
from long_running_agents.server.auth import caller_of, check
from long_running_agents.server.http import Routes, read, route
from long_running_agents.server.routes.jobs import OneJob
from long_running_agents.server.wire import WireResponse

_LARGEST = 256 << 10
_DELIVERED: dict[str, Any] = {
    "x-scope": "hook:ID; or a signature",
    "requestBody": {"content": {"application/json": {}}, "description": "At most 256 kB."},
}


class HookReceipt(WireResponse):
    """What became of a delivery."""

    turn_id: str | None
    session_id: str | None
    outcome: FiringOutcome


class HookRoutes(Routes, tag="hooks"):
    """Deliveries to jobs whose schedule is "webhook"."""

    @route("POST /hooks/{job_id}", status_code=HTTPStatus.ACCEPTED, openapi_extra=_DELIVERED)
    async def deliver(self, request: Request, job_id: OneJob) -> HookReceipt:
        """Begin a job with what is delivered, once for each delivery.

        It is signed after Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature), or
        has a token of the scope hook:ID.
        """
        signature = request.headers.get("webhook-signature", "")
        # Before the body is read, and the same whether or not there is such a job.
        owner = None if signature else check(caller_of(request), f"hook:{job_id}").owner
        delivery = WebhookDelivery(
            body=await read(request, _LARGEST),
            id=request.headers.get("webhook-id", ""),
            timestamp=request.headers.get("webhook-timestamp", ""),
            signature=signature,
        )
        firing = (await receive(self._app.jobs.scheduler, job_id, delivery, owner)).firing
        return HookReceipt(
            turn_id=firing.turn_id, session_id=firing.session_id, outcome=firing.outcome
        )
