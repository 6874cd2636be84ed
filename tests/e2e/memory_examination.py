"""Looks through a home's memory, with nothing but SQL, for anything a death may have broken."""

import json
import sqlite3
from contextlib import closing


def findings(path, diary):
    """What is wrong, and how the diary ends: whether its last deed happened."""
    with closing(sqlite3.connect(path)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'memories'").fetchone():
            return ["there is no memory"] if diary.lines else [], None
        problems = []
        ending = None
        if diary.open is not None:
            ending = _ending(database, diary, problems)
            diary.read(ending)
        problems += _lost(database, diary)
        problems += _trash(database, diary)
        problems += _words(database, diary)
        problems += _orphans(database)
        problems += _talk(database)
        problems += _vectors(database)
        problems += _sound(database)
        return problems, ending


def _ending(database, diary, problems):
    deed, begun = diary.open
    live = {number for (number,) in database.execute("SELECT id FROM memories")}
    if deed in ("write", "talk", "correct"):
        rows = database.execute("SELECT id, content FROM memories").fetchall()
        found = {content.split()[0]: number for number, content in rows}
        there = [found[token] for token in begun["tokens"] if token in found]
        if there and len(there) < len(begun["tokens"]):
            problems.append(f"half of a {deed} is there")
        return ["done", deed, there] if there else ["never", deed, None]
    if deed == "forget":
        return _ending_of_forgetting(database, diary, begun, live, problems)
    if deed == "undo":
        rows = set(diary.trash[begun["batch"]])
        if rows & live and not rows <= live:
            problems.append("half of an undo is there")
        ids = sorted(rows) if rows <= live else []
        return ["done", deed, {"ids": ids, "batch": begun["batch"]}]
    return ["done", deed, begun]


def _ending_of_forgetting(database, diary, begun, live, problems):
    meant = diary.closure(begun["ids"])
    left = meant & live
    if left and left != meant:
        problems.append(f"half of a forgetting is there: {left} of {meant}")
    if left:
        return ["never", "forget", None]
    if begun["at_once"]:
        return ["done", "forget", {"ids": sorted(meant | diary.thrown(meant)), "batch": None}]
    chosen = json.dumps(sorted(meant))
    batches = database.execute(
        "SELECT DISTINCT batch FROM memory_trash"
        " WHERE memory_id IN (SELECT value FROM json_each(?))",
        (chosen,),
    ).fetchall()
    if len(batches) != 1:
        problems.append(f"{sorted(meant)} were forgotten together and lie in {batches}")
    return ["done", "forget", {"ids": sorted(meant), "batch": batches[0][0]}]


def _lost(database, diary):
    stored = {
        number: content.split()[0]
        for number, content in database.execute("SELECT id, content FROM memories")
    }
    if lost := set(diary.live) - set(stored):
        yield f"acknowledged memories are gone: {sorted(lost)}"
    if back := set(stored) - set(diary.live):
        yield f"forgotten or never acknowledged memories are there: {sorted(back)}"
    if any(stored[number] != token for number, token in diary.live.items() if number in stored):
        yield "a memory has changed"


def _trash(database, diary):
    rows = {}
    for batch, number, body in database.execute("SELECT batch, memory_id, body FROM memory_trash"):
        rows.setdefault(batch, {})[number] = json.loads(body)[0]["content"].split()[0]
    if rows != diary.trash:
        yield f"the trash holds {rows} instead of {diary.trash}"


def _words(database, diary):
    lying = {number: token for rows in diary.trash.values() for number, token in rows.items()}
    for number, token in (diary.live | lying).items():
        found = database.execute(
            "SELECT rowid FROM memory_words WHERE memory_words MATCH ?", (f'words : "{token}"',)
        ).fetchall()
        if found != ([(number,)] if number in diary.live else []):
            yield f"the words of #{number} are found in {found}"


def _orphans(database):
    for table, column in (
        ("memory_vectors", "memory_id"),
        ("memory_entries", "memory_id"),
        ("memory_links", "memory_id"),
        ("memory_links", "derived_from"),
        ("memory_words", "rowid"),
    ):
        query = f"SELECT count(*) FROM {table} WHERE {column} NOT IN (SELECT id FROM memories)"
        if count := database.execute(query).fetchone()[0]:
            yield f"{count} orphans in {table}"
    for table, column in (("memory_entries", "memory_id"), ("memory_words", "rowid")):
        query = f"SELECT count(*) FROM memories WHERE id NOT IN (SELECT {column} FROM {table})"
        if count := database.execute(query).fetchone()[0]:
            yield f"{count} memories are not in {table}"


def _talk(database):
    query = (
        "SELECT count(*) FROM (SELECT previous_id, lag(id) OVER (PARTITION BY session_id ORDER BY"
        " id) AS before FROM memories WHERE kind = 'conversation') WHERE previous_id IS NOT before"
    )
    if count := database.execute(query).fetchone()[0]:
        yield f"{count} memories do not know what was said before them"


def _vectors(database):
    query = (
        "SELECT count(*) FROM memory_vectors v JOIN memory_spaces s ON s.id = v.space"
        " WHERE length(v.vector) != 2 * s.dimensions"
    )
    if count := database.execute(query).fetchone()[0]:
        yield f"{count} vectors do not belong to their space"


def _sound(database):
    for pragma, sound in (("integrity_check", [("ok",)]), ("foreign_key_check", [])):
        if (told := database.execute(f"PRAGMA {pragma}").fetchall()) != sound:
            yield f"{pragma} says {told}"
    database.execute("INSERT INTO memory_words (memory_words) VALUES ('integrity-check')")
    database.rollback()
