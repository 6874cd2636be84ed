"""Files among the skills that cannot be skills, with the reason."""

from collections.abc import Sequence

from sqlalchemy import delete, insert, select

from long_running_agents.domain.skill import Problem
from long_running_agents.store.database import Transaction
from long_running_agents.store.skill_tables import skill_problems


def put(tx: Transaction, owner: str, problems: Sequence[Problem]) -> None:
    """Keep what was found in an owner's files, instead of what was found before."""
    tx.execute(delete(skill_problems).where(skill_problems.c.owner == owner))
    if problems:
        tx.execute(
            insert(skill_problems),
            [
                {
                    "owner": owner,
                    "path": tx.redact(problem.path),
                    "digest": problem.digest,
                    "error": tx.redact(problem.error),
                    "seen_at": problem.seen_at,
                }
                for problem in problems
            ],
        )


def every(tx: Transaction, owner: str) -> list[Problem]:
    """What is wrong with an owner's files, by path."""
    query = select(skill_problems).where(skill_problems.c.owner == owner)
    return [
        Problem(
            owner=row.owner,
            path=row.path,
            digest=row.digest,
            error=row.error,
            seen_at=row.seen_at,
        )
        for row in tx.execute(query.order_by(skill_problems.c.path))
    ]
