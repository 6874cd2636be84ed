"""The schema, as the newest migration leaves it."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from typing_extensions import override

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NANO = Decimal(1_000_000_000)


def microseconds(moment: datetime) -> int:
    """A moment as the database keeps it."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(kept: int) -> datetime:
    """What the database keeps, as a moment."""
    return _EPOCH + timedelta(microseconds=kept)


def nanodollars(amount: Decimal) -> int:
    """Money as the database keeps it."""
    return round(amount * _NANO)


class Moment(TypeDecorator[datetime]):
    """A UTC moment, kept as microseconds since 1970: exact and the same on every database."""

    impl = BigInteger
    cache_ok = True

    @override
    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """To the database."""
        return None if value is None else microseconds(value)

    @override
    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """From the database."""
        return None if value is None else moment(value)


class Dollars(TypeDecorator[Decimal]):
    """Money, kept as whole billionths of a dollar: sums stay exact."""

    impl = BigInteger
    cache_ok = True

    @override
    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> int | None:
        """To the database."""
        return None if value is None else nanodollars(value)

    @override
    def process_result_value(self, value: int | None, dialect: Dialect) -> Decimal | None:
        """From the database."""
        return None if value is None else Decimal(value) / _NANO


metadata = MetaData()


def _session_column(*, primary_key: bool = False) -> Column[str]:
    return Column(
        "session_id",
        String,
        ForeignKey("sessions.id", ondelete="CASCADE"),
        primary_key=primary_key,
        nullable=False,
    )


def _turn_column(*, primary_key: bool = False, nullable: bool = False) -> Column[str]:
    return Column(
        "turn_id",
        String,
        ForeignKey("turns.id", ondelete="CASCADE"),
        primary_key=primary_key,
        nullable=nullable,
    )


sessions = Table(
    "sessions",
    metadata,
    Column("id", String, primary_key=True),
    Column("title", Text, nullable=False),
    Column("mode", String, nullable=False),
    Column("model", String),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("forked_from", String),
    Column("forked_at", String),
    Column("owner", String, nullable=False, server_default="me"),
    # Counters, so that the next number is found without looking through the log.
    Column("last_turn", Integer, nullable=False, server_default="0"),
    Column("last_message", Integer, nullable=False, server_default="0"),
    Column("last_event", Integer, nullable=False, server_default="0"),
    Column("last_task", Integer, nullable=False, server_default="0"),
    # The last message that the model is not shown any more.
    Column("cleared", Integer, nullable=False, server_default="0"),
    Index("sessions_by_update", "updated_at"),
    Index("sessions_by_owner", "owner", "updated_at"),
)

turns = Table(
    "turns",
    metadata,
    Column("id", String, primary_key=True),
    _session_column(),
    Column("number", Integer, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("origin", String, nullable=False),
    Column("attended", Boolean, nullable=False),
    Column("status", String, nullable=False),
    Column("model", String),
    Column("answer", Text, nullable=False, server_default=""),
    Column("error", Text, nullable=False, server_default=""),
    Column("steps", Integer, nullable=False, server_default="0"),
    Column("tool_calls", Integer, nullable=False, server_default="0"),
    Column("input_tokens", BigInteger, nullable=False, server_default="0"),
    Column("output_tokens", BigInteger, nullable=False, server_default="0"),
    Column("cost", Dollars, nullable=False, server_default="0"),
    Column("seconds", Float, nullable=False, server_default="0"),
    Column("renewals", Integer, nullable=False, server_default="0"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("created_at", Moment, nullable=False),
    Column("ended_at", Moment),
    Column("owner", String, nullable=False, server_default="me"),
    Column("mode", String, nullable=False, server_default="bounded"),
    # Tools that whoever asked runs itself, as JSON.
    Column("client_tools", Text),
    UniqueConstraint("session_id", "number"),
    Index("turns_by_status", "status", "session_id", "number"),
)

messages = Table(
    "messages",
    metadata,
    _session_column(primary_key=True),
    Column("seq", Integer, primary_key=True),
    _turn_column(),
    Column("step", Integer, nullable=False),
    Column("kind", String, nullable=False),
    Column("body", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index("messages_by_turn", "turn_id"),
)

events = Table(
    "events",
    metadata,
    _session_column(primary_key=True),
    Column("seq", Integer, primary_key=True),
    _turn_column(nullable=True),
    Column("type", String, nullable=False),
    Column("body", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Index("events_by_turn", "turn_id"),
    Index("events_by_time", "at"),
)

tool_calls = Table(
    "tool_calls",
    metadata,
    _turn_column(primary_key=True),
    Column("call_id", String, primary_key=True),
    _session_column(),
    Column("step", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("tool", String, nullable=False),
    Column("args", Text, nullable=False),
    Column("effect", String, nullable=False),
    Column("state", String, nullable=False),
    Column("result", Text),
    Column("started_at", Moment),
    Column("ended_at", Moment),
    Index("tool_calls_by_session", "session_id", "state"),
)

approvals = Table(
    "approvals",
    metadata,
    Column("id", String, primary_key=True),
    _session_column(),
    _turn_column(),
    Column("call_id", String, nullable=False),
    Column("tool", String, nullable=False),
    Column("args", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("state", String, nullable=False),
    Column("reason", Text, nullable=False, server_default=""),
    Column("asked_at", Moment, nullable=False),
    Column("answered_at", Moment),
    Column("offer", Text),
    Column("lasting", String, nullable=False, server_default="once"),
    Column("expires_at", Moment),
    UniqueConstraint("turn_id", "call_id"),
    Index("approvals_by_session", "session_id", "state"),
)

grants = Table(
    "grants",
    metadata,
    Column("id", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("session_id", String, ForeignKey("sessions.id", ondelete="CASCADE")),
    Column("tool", String, nullable=False),
    Column("scope", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("used", Integer, nullable=False, server_default="0"),
    Column("revoked_at", Moment),
    Index("grants_by_owner", "owner"),
)

taints = Table(
    "taints",
    metadata,
    _turn_column(primary_key=True),
    Column("call_id", String, primary_key=True),
    Column("source", Text, primary_key=True),
    _session_column(),
    Column("at", Moment, nullable=False),
    Index("taints_by_session", "session_id"),
)

decisions = Table(
    "decisions",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Moment, nullable=False),
    Column("owner", String, nullable=False),
    # No foreign keys: that something was decided stays known when a session is deleted.
    Column("session_id", String, nullable=False),
    Column("turn_id", String, nullable=False),
    Column("call_id", String, nullable=False),
    Column("tool", String, nullable=False),
    Column("args", Text, nullable=False),
    Column("decision", String, nullable=False),
    Column("why", Text, nullable=False),
    Column("who", String, nullable=False),
    Index("decisions_by_session", "session_id"),
)

usage = Table(
    "usage",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    # No foreign keys: what was spent stays spent when a session is deleted.
    Column("session_id", String, nullable=False),
    Column("turn_id", String, nullable=False),
    Column("step", Integer, nullable=False),
    Column("model", String, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cache_read_tokens", BigInteger, nullable=False),
    Column("cache_write_tokens", BigInteger, nullable=False),
    Column("cost", Dollars),
    Column("estimated", Boolean, nullable=False),
    Column("at", Moment, nullable=False),
    Column("owner", String, nullable=False, server_default="me"),
    UniqueConstraint("turn_id", "step"),
    Index("usage_by_time", "at"),
    Index("usage_by_owner", "owner", "at"),
)

tasks = Table(
    "tasks",
    metadata,
    _session_column(primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    Column("status", String, nullable=False),
    Column("parent", Integer),
    Column("result", Text, nullable=False, server_default=""),
    # The call that made the task: the same call never makes it twice.
    Column("made_by", String),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    UniqueConstraint("session_id", "made_by"),
)

model_cards = Table(
    "model_cards",
    metadata,
    Column("endpoint", String, primary_key=True),
    Column("model", String, primary_key=True),
    Column("native_tools", Boolean, nullable=False),
    Column("text_tools", Boolean, nullable=False),
    Column("streaming", Boolean, nullable=False),
    Column("streamed_calls", Boolean, nullable=False),
    Column("usage", Boolean, nullable=False),
    Column("context_window", Integer),
    Column("cuts_silently", Boolean, nullable=False),
    Column("checked_at", Moment, nullable=False),
)

model_lacks = Table(
    "model_lacks",
    metadata,
    Column("endpoint", String, primary_key=True),
    Column("model", String, primary_key=True),
    Column("what", String, primary_key=True),
    Column("learned_at", Moment, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("name", String, nullable=False),
    # Of the token, which nobody but its bearer knows.
    Column("digest", String, nullable=False, unique=True),
    Column("scopes", String, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("used_at", Moment),
    Column("expires_at", Moment),
    Column("revoked_at", Moment),
)

requests = Table(
    "requests",
    metadata,
    Column("owner", String, primary_key=True),
    Column("key", String, primary_key=True),
    # Of the request, so that a key is not used for another one.
    Column("digest", String, nullable=False),
    _turn_column(),
    Column("at", Moment, nullable=False),
    Index("requests_by_time", "at"),
)

conversations = Table(
    "conversations",
    metadata,
    Column("owner", String, primary_key=True),
    # Of everything that was said so far, as a client tells it.
    Column("digest", String, primary_key=True),
    _session_column(),
    _turn_column(),
    Column("at", Moment, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Moment, nullable=False),
    Column("actor", String, nullable=False),
    Column("action", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("detail", Text, nullable=False, server_default=""),
)
