"""Looks through a home, with nothing but SQL, for anything that a death may have broken."""

import json
import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Findings:
    """What was found."""

    turns: int
    uncertain: int
    problems: list[str]


def findings(
    home: Path,
    session: str,
    acknowledged: list[list[str]],
    effects: list[list[str]],
    sent: tuple[str, ...],
) -> Findings:
    """Compare what the home knows with what the outside world saw."""
    database = sqlite3.connect(home / "lra.db")
    database.row_factory = sqlite3.Row
    turns = {row["id"]: row for row in database.execute("SELECT * FROM turns")}
    calls = list(database.execute("SELECT * FROM tool_calls"))
    events = list(database.execute("SELECT * FROM events ORDER BY seq"))
    problems = [
        *_lost(acknowledged, turns),
        *_doubled(effects),
        *_unresolved(calls, effects),
        *_unfinished(turns, events),
        *_gaps(events),
        *_messages(database, turns),
        *_tasks(database, turns),
    ]
    if database.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
        problems.append("the database is damaged")
    for turn in turns.values():
        tags = {json.loads(c["args"]).get("tag") for c in calls if c["turn_id"] == turn["id"]}
        if not set(sent) <= tags:
            problems.append(f"turn {turn['number']} never came to all its calls")
    database.close()
    uncertain = sum(call["state"] == "uncertain" for call in calls)
    return Findings(len(turns), uncertain, problems)


def _lost(acknowledged, turns):
    for turn_id, text in acknowledged:
        if turn_id not in turns:
            yield f"the acknowledged message {text!r} is gone"
        elif turns[turn_id]["prompt"] != text:
            yield f"the acknowledged message {text!r} has changed"


def _doubled(effects):
    times = Counter((turn, call) for turn, call, _ in effects)
    yield from (f"a once call took effect {n} times" for n in times.values() if n > 1)
    tags = Counter((turn, tag) for turn, _, tag in effects)
    yield from (f"{tag!r} was sent {n} times in one turn" for (_, tag), n in tags.items() if n > 1)


def _unresolved(calls, effects):
    happened = {(turn, call) for turn, call, _ in effects}
    for call in calls:
        key = (call["turn_id"], call["call_id"])
        if call["state"] not in ("done", "uncertain"):
            yield f"{call['tool']} is left as {call['state']}"
        if call["state"] == "uncertain" and call["tool"] != "send":
            yield f"{call['tool']} may be repeated, yet was reported as uncertain"
        if call["tool"] == "send" and call["state"] == "done" and key not in happened:
            yield "a once call is recorded as done and never happened"
        if call["tool"] == "send" and call["state"] == "uncertain":
            told = call["result"] or ""
            if "UNCERTAIN" not in told:
                yield "an uncertain call was not reported as such"


def _unfinished(turns, events):
    for turn in turns.values():
        if turn["status"] != "done":
            yield f"turn {turn['number']} is {turn['status']}: {turn['error']}"
        closing = [e for e in events if e["turn_id"] == turn["id"] and e["type"] == "done"]
        if len(closing) != 1:
            yield f"turn {turn['number']} has {len(closing)} closing events"


def _gaps(events):
    numbers = [event["seq"] for event in events]
    if numbers != list(range(1, len(numbers) + 1)):
        yield "the events are not numbered without a gap"


def _messages(database, turns):
    for turn in turns.values():
        rows = database.execute(
            "SELECT kind, body FROM messages WHERE turn_id = ? ORDER BY seq", (turn["id"],)
        ).fetchall()
        kinds = [row["kind"] for row in rows]
        if kinds != ["request", "response"] * (len(kinds) // 2):
            yield f"turn {turn['number']} has a broken log: {kinds}"
        asked = Counter(
            part["tool_call_id"]
            for row in rows
            for part in json.loads(row["body"])["parts"]
            if part["part_kind"] == "tool-call"
        )
        answered = Counter(
            part["tool_call_id"]
            for row in rows
            for part in json.loads(row["body"])["parts"]
            if part["part_kind"] == "tool-return"
        )
        if asked != answered:
            yield f"turn {turn['number']} has calls without a result or results without a call"


def _tasks(database, turns):
    made = database.execute("SELECT count(*) FROM tasks").fetchone()[0]
    if made != len(turns):
        yield f"{made} tasks were made in {len(turns)} turns of one task each"
