"""Webhooks: what arrives from outside begins a job, if it is signed or its sender has a token."""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import datetime

from long_running_agents.domain.job import FiringView, ForeignWords, Job, JobId
from long_running_agents.domain.schedule import ScheduleKind
from long_running_agents.errors import Unauthorized
from long_running_agents.jobs.scheduler import Scheduler
from long_running_agents.sandbox.base import printable
from long_running_agents.store import jobs
from long_running_agents.store.database import Transaction

_PREFIX = "whsec_"
_PATIENCE = 300.0
"""Seconds by which the sender's clock may be wrong."""


def new_hook_secret() -> str:
    """What deliveries can be signed with, in the form that senders expect."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDelivery:
    """What arrived at a webhook, with the headers of Standard Webhooks where it has them."""

    body: bytes
    id: str = ""
    timestamp: str = ""
    signature: str = ""

    @property
    def name(self) -> str:
        """What it is known by: its id, or else what it says."""
        named = b"id " + self.id.encode() if self.id else b"body " + self.body
        return hashlib.sha256(named).hexdigest()[:32]

    def signed_with(self, secret: str, now: datetime) -> bool:
        """Whether it was signed with a secret, just now."""
        lately = re.fullmatch(r"[0-9]{1,12}", self.timestamp)
        if lately is None or abs(now.timestamp() - int(self.timestamp)) > _PATIENCE:
            return False
        key = base64.b64decode(secret.removeprefix(_PREFIX))
        told = f"{self.id}.{self.timestamp}.".encode() + self.body
        right = b"v1," + base64.b64encode(hmac.digest(key, told, hashlib.sha256))
        offered = [each.encode() for each in self.signature.split(" ")]
        return any(hmac.compare_digest(right, each) for each in offered)


async def receive(
    scheduler: Scheduler, job_id: JobId, delivery: WebhookDelivery, owner: str | None
) -> FiringView:
    """Fire the job that a delivery is for; the same delivery fires it once.

    Args:
        scheduler: Fires it.
        job_id: The job, as the sender calls it.
        delivery: What was sent.
        owner: Whose job it is, if the sender has a token for it; else the signature tells.

    Raises:
        Unauthorized: There is no such hook, or the delivery is not signed for it.
        Busy: The job is paused, or was only proposed.
        TooMany: There were too many runs within a minute.
    """
    now = scheduler.turns.clock.now()

    def work(tx: Transaction) -> list[Job]:
        # Where nobody has a secret, it takes as long to say so.
        known = jobs.hook_secrets(tx, job_id) or {"": new_hook_secret()}
        signers = [each for each, secret in known.items() if delivery.signed_with(secret, now)]
        found = [jobs.find(tx, each, job_id) for each in ([owner] if owner else signers)]
        return [job for job in found if job is not None and _is_hook(job)]

    if not (found := await scheduler.database.read(work)):
        raise Unauthorized(
            "There is no such hook, or this delivery is not signed for it.",
            hint="'lra jobs hook ID' makes a secret, 'lra tokens create --scope hook:ID' a token.",
        )
    text = printable(delivery.body.decode("utf-8", "replace")) or "(nothing)"
    words = ForeignWords(source=f"hook:{job_id}", said="This arrived at the webhook", text=text)
    return await scheduler.deliver(found[0].owner, job_id, f"hook:{delivery.name}", words)


def _is_hook(job: Job) -> bool:
    return job.schedule.strip().lower() == ScheduleKind.WEBHOOK
