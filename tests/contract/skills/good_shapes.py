"""Good candidates with dates, files, classes, contexts and waiting."""

from tests.contract.skills.candidate import Candidate, shows

SHAPES = [
    Candidate(
        "days_between",
        '''
        from datetime import date

        def days_between(first: str, last: str) -> int:
            """Days from one date to another, both written as 2026-03-01."""
            return (date.fromisoformat(last) - date.fromisoformat(first)).days
        ''',
        "dates as strings, with an example because no derived text is a date",
        examples=(shows(28, first="2026-02-01", last="2026-03-01"),),
    ),
    Candidate(
        "add_months",
        '''
        import calendar
        import datetime as dt

        def add_months(day: str, months: int = 1) -> str:
            """The same day of a later month, or its last day where there is no such day.

            >>> add_months("2026-01-31")
            '2026-02-28'
            """
            given = dt.date.fromisoformat(day)
            year, month = divmod(given.year * 12 + given.month - 1 + months, 12)
            last = calendar.monthrange(year, month + 1)[1]
            return given.replace(year=year, month=month + 1, day=min(given.day, last)).isoformat()
        ''',
        "an alias, and a doctest that leaves a default out",
    ),
    Candidate(
        "lengths_of_all",
        '''
        import asyncio

        async def _length(text: str) -> int:
            await asyncio.sleep(0)
            return len(text)

        async def lengths_of_all(texts: list[str]) -> list[int]:
            """How long each text is, counted side by side."""
            return list(await asyncio.gather(*(_length(text) for text in texts)))
        ''',
        "async, with gather",
    ),
    Candidate(
        "first_to_answer",
        '''
        import asyncio

        async def first_to_answer(delays: dict[str, float]) -> str | None:
            """Who answers first when each takes as many milliseconds as told."""

            async def answer(name: str, delay: float) -> str:
                await asyncio.sleep(max(min(delay, 20.0), 0.0) / 1000)
                return name

            tasks = [asyncio.create_task(answer(*pair)) for pair in delays.items()]
            if not tasks:
                return None
            done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in waiting:
                task.cancel()
            return sorted(task.result() for task in done)[0]
        ''',
        "async, with tasks that are cancelled",
        examples=(shows("quick", delays={"slow": 20.0, "quick": 1.0}),),
    ),
    Candidate(
        "conversation_name",
        '''
        def conversation_name(ctx) -> str:
            """What this conversation is called."""
            return f"conversation {ctx['session_id']}"
        ''',
        "takes nothing but the context, without a hint",
    ),
    Candidate(
        "signed_note",
        '''
        from typing import Any

        def signed_note(context: dict[str, Any], text: str, closing: str = "Yours") -> str:
            """A note with the name of whoever it is for beneath it."""
            return f"{text.strip()}\\n\\n{closing},\\n{context['owner']}"
        ''',
        "takes the context and more",
    ),
    Candidate(
        "price_of_box",
        '''
        from dataclasses import dataclass

        @dataclass(frozen=True)
        class Box:
            width: float
            height: float
            depth: float = 1.0

            @property
            def volume(self) -> float:
                return self.width * self.height * self.depth

        def price_of_box(box: Box, per_litre: float = 0.5) -> float:
            """What it costs to send a box, by its volume in litres."""
            return round(box.volume * per_litre, 2)
        ''',
        "takes a dataclass and uses its property",
        examples=(shows(3.0, box={"width": 2.0, "height": 3.0}),),
    ),
    Candidate(
        "order_total",
        '''
        from typing import NotRequired, TypedDict

        class Line(TypedDict):
            what: str
            price: float
            count: NotRequired[int]

        def order_total(lines: list[Line], discount: float | None = None) -> float:
            """The sum of an order, less a discount in percent."""
            total = sum(line["price"] * line.get("count", 1) for line in lines)
            return round(total * (1 - (discount or 0.0) / 100), 2)
        ''',
        "typed dicts with a field that may be missing",
    ),
    Candidate(
        "next_light",
        '''
        from enum import StrEnum

        class Light(StrEnum):
            RED = "red"
            GREEN = "green"
            AMBER = "amber"

        FOLLOWS = {Light.RED: Light.GREEN, Light.GREEN: Light.AMBER, Light.AMBER: Light.RED}

        def next_light(light: Light) -> Light:
            """What a traffic light shows next."""
            return FOLLOWS[light]
        ''',
        "an enumeration, in and out",
    ),
    Candidate(
        "keep_line",
        '''
        from pathlib import Path

        def keep_line(line: str, file: str = "kept.txt") -> int:
            """Add a line to a file of the workspace, and say how many lines it has now."""
            path = Path("/workspace") / Path(file or "kept.txt").name
            before = path.read_text(encoding="utf-8") if path.exists() else ""
            path.write_text(before + line.replace("\\n", " ") + "\\n", encoding="utf-8")
            return path.read_text(encoding="utf-8").count("\\n")
        ''',
        "writes a file and reads it back",
    ),
    Candidate(
        "tally_votes",
        '''
        import json

        def tally_votes(votes: list[str]) -> dict[str, int]:
            """Count votes, and keep the count in votes.json of the workspace."""
            counts: dict[str, int] = {}
            for vote in votes:
                counts[vote] = counts.get(vote, 0) + 1
            with open("votes.json", "w", encoding="utf-8") as file:
                json.dump(counts, file, sort_keys=True)
            with open("votes.json", encoding="utf-8") as file:
                return json.load(file)
        ''',
        "opens a file beside it",
    ),
    Candidate(
        "check_totals",
        '''
        def check_totals(parts: list[float], total: float) -> None:
            """Fail when parts are not as much as their total; return nothing otherwise."""
            if abs(sum(parts) - total) > 0.005:
                raise ValueError(f"the parts are {sum(parts)}, not {total}")
        ''',
        "returns nothing",
        examples=(shows(None, parts=[1.5, 2.5], total=4.0),),
    ),
    Candidate(
        "dependency_order",
        '''
        def dependency_order(needs: dict[str, list[str]]) -> list[str]:
            """An order in which everything comes after what it needs."""
            found: dict[str, None] = {}

            def visit(name: str, path: tuple[str, ...]) -> None:
                if name in path:
                    raise ValueError(f"{name} needs itself")
                if name not in found:
                    for other in needs.get(name, []):
                        visit(other, (*path, name))
                    found[name] = None

            for name in needs:
                visit(name, ())
            return list(found)
        ''',
        "a dict of lists, with recursion inside",
        examples=(shows(["a", "b", "c"], needs={"c": ["a", "b"], "b": ["a"]}),),
    ),
]
