"""The audit log of the gate: what was decided about each call, why, and by whom."""

from collections.abc import Sequence

from sqlalchemy import insert, select, update

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.judgement import Judgement
from long_running_agents.domain.policy import By, Ruling
from long_running_agents.store.database import Transaction
from long_running_agents.store.prepared import Prepared
from long_running_agents.store.tables import decisions, microseconds

_LONGEST = 300
"""Characters of the arguments that are kept; the ledger has all of them."""

_NOTE = Prepared(
    insert(decisions),
    [
        "at",
        "owner",
        "session_id",
        "turn_id",
        "call_id",
        "tool",
        "args",
        "decision",
        "why",
        "who",
    ],
)


def note(tx: Transaction, judgements: Sequence[Judgement]) -> None:
    """Write down what was decided."""
    tx.run_each(
        _NOTE,
        [
            {
                "at": microseconds(each.at),
                "owner": each.owner,
                "session_id": each.session_id,
                "turn_id": each.turn_id,
                "call_id": each.call_id,
                "tool": each.tool,
                # Redacted before it is cut: half a secret is not known for one.
                "args": tx.redact.json(each.args)[:_LONGEST],
                "decision": each.decision,
                "why": tx.redact(each.why),
                "who": each.who,
            }
            for each in judgements
        ],
    )


def newest(
    tx: Transaction, owner: str, *, limit: int, session_id: SessionId | None = None
) -> list[Judgement]:
    """The latest judgements about an owner's calls, the newest first."""
    query = select(decisions).where(decisions.c.owner == owner)
    if session_id is not None:
        query = query.where(decisions.c.session_id == session_id)
    rows = tx.execute(query.order_by(decisions.c.id.desc()).limit(limit))
    return [
        Judgement(
            at=row.at,
            owner=row.owner,
            session_id=SessionId(row.session_id),
            turn_id=TurnId(row.turn_id),
            call_id=row.call_id,
            tool=row.tool,
            args=row.args,
            decision=Ruling(row.decision),
            why=row.why,
            who=By(row.who),
        )
        for row in rows
    ]


def forget_words(tx: Transaction, session_id: SessionId) -> None:
    """Take a deleted session's words out; that something was decided stays known."""
    tx.execute(
        update(decisions).where(decisions.c.session_id == session_id).values(args="", why="")
    )
