"""Bad candidates that only a trial finds out: they crash, hang, eat memory or return nonsense."""

from tests.contract.skills.candidate import Candidate, shows, works

from long_running_agents.domain.skill import SkillLimits

_QUICK = SkillLimits(timeout=1, memory=256)
_SLOW = SkillLimits(timeout=100, memory=256)
_SMALL = SkillLimits(timeout=100, memory=64)

CRASHES = [
    Candidate(
        "unknown_name",
        '''
        def unknown_name(numbers: list[int]) -> int:
            """The sum of numbers."""
            return sum(figures)
        ''',
        "a name that nobody has bound",
        "NameError",
    ),
    Candidate(
        "always_divides",
        '''
        def always_divides(number: float) -> float:
            """A number divided by nothing."""
            return number / (number - number)
        ''',
        "fails whatever it is given",
        "ZeroDivisionError",
    ),
    Candidate(
        "wrong_method",
        '''
        def wrong_method(text: str) -> str:
            """A text in capitals."""
            return text.to_upper()
        ''',
        "a method of another language",
        "AttributeError",
    ),
    Candidate(
        "missing_part",
        '''
        from statistics import midrange

        def missing_part(values: list[float]) -> float:
            """The middle between the smallest and the largest value."""
            return midrange(values)
        ''',
        "an allowed module has no such function",
        "ImportError",
    ),
    Candidate(
        "leaves_early",
        '''
        def leaves_early(number: int) -> int:
            """A number, if the process lives."""
            raise SystemExit(number)
        ''',
        "ends its process",
        "SystemExit",
    ),
    Candidate(
        "rare_name",
        '''
        def rare_name(numbers: list[int]) -> int:
            """The largest number; 0 when there is none."""
            if not numbers:
                return NOTHING
            return max(numbers)
        ''',
        "a name is missing on a path that only an edge takes",
        "rare_name(numbers=[]) fails: NameError",
    ),
]

HANGS = [
    Candidate(
        "runs_for_ever",
        '''
        def runs_for_ever(number: int) -> int:
            """A number, at the end of time."""
            while True:
                number += 1
            return number
        ''',
        "a loop without end",
        "TimeoutError",
        limits=_QUICK,
    ),
    Candidate(
        "will_not_stop",
        '''
        def will_not_stop(number: int) -> int:
            """A number, at the end of time."""
            while True:
                try:
                    while True:
                        number += 1
                except BaseException:
                    number = 0
        ''',
        "a loop that does not even stop when it is told to",
        "TimeoutError",
        limits=_QUICK,
    ),
    Candidate(
        "sleeps_long",
        '''
        import time

        def sleeps_long(number: int) -> int:
            """A number, an hour later."""
            time.sleep(3600)
            return number
        ''',
        "sleeps",
        "TimeoutError",
        limits=_QUICK,
    ),
    Candidate(
        "slow_pattern",
        r'''
        import re

        def slow_pattern(text: str) -> bool:
            """Whether a text is made of letters in groups."""
            return re.fullmatch(r"(?:a+)+b", text) is not None
        ''',
        "a pattern that tries everything",
        "TimeoutError",
        examples=(works(text="a" * 40 + "c"),),
        limits=_QUICK,
    ),
    Candidate(
        "huge_power",
        '''
        def huge_power(number: int) -> int:
            """The last digit of a power."""
            return (abs(number) + 7) ** (10**9) % 10
        ''',
        "one operation that takes for ever",
        "TimeoutError",
        limits=_QUICK,
    ),
    Candidate(
        "digs_deeper",
        '''
        def digs_deeper(number: int) -> int:
            """A number, from far below."""
            return digs_deeper(number + 1) - 1
        ''',
        "calls itself without end",
        "RecursionError",
        limits=_SLOW,
    ),
]

MEMORY = [
    Candidate(
        "grows_a_list",
        '''
        def grows_a_list(number: int) -> int:
            """How long a list is."""
            kept = []
            while True:
                kept.append([number] * 100_000)
            return len(kept)
        ''',
        "a list without end",
        "Memory",
        limits=_SMALL,
    ),
    Candidate(
        "takes_at_once",
        '''
        def takes_at_once(number: int) -> int:
            """How much was taken."""
            return len(bytearray(4_000_000_000)) + number
        ''',
        "gigabytes in one piece",
        "Memory",
        limits=_SMALL,
    ),
    Candidate(
        "doubles_a_text",
        '''
        def doubles_a_text(text: str) -> int:
            """How long a text gets."""
            text = text or "x"
            for _ in range(60):
                text += text
            return len(text)
        ''',
        "a text that doubles",
        "Memory",
        limits=_SMALL,
    ),
    Candidate(
        "nests_tables",
        '''
        def nests_tables(number: int) -> int:
            """How many tables there are."""
            table = {}
            for place in range(10**9):
                table[place] = {place: [number] * 10}
            return len(table)
        ''',
        "tables in tables",
        "Memory",
        limits=_SMALL,
    ),
]

OUTPUT = [
    Candidate(
        "says_number",
        '''
        def says_number(number: int) -> int:
            """Twice a number."""
            return f"{2 * number}"
        ''',
        "a text where a number is promised",
        "which is not what its signature says",
    ),
    Candidate(
        "no_number",
        '''
        def no_number(values: list[float]) -> float:
            """The mean of values."""
            return sum(values) / len(values) if values else float("nan")
        ''',
        "NaN, which JSON does not have",
        "no_number(values=[]) fails: TypeError: no JSON",
    ),
    Candidate(
        "a_set",
        '''
        def a_set(words: list[str]) -> list[str]:
            """Words, each once."""
            return set(words)
        ''',
        "a set, which JSON does not have",
        "set",
    ),
    Candidate(
        "raw_bytes",
        '''
        def raw_bytes(text: str) -> str:
            """A text as it is stored."""
            return text.encode()
        ''',
        "bytes, which JSON does not have",
        "bytes",
    ),
    Candidate(
        "own_object",
        '''
        class Answer:
            pass

        def own_object(text: str) -> object:
            """An answer to a text."""
            return Answer()
        ''',
        "an object, which JSON does not have",
        "Answer",
    ),
    Candidate(
        "off_by_one",
        '''
        def off_by_one(first: int, last: int) -> int:
            """How many whole numbers there are from the first to the last, both counted."""
            return last - first
        ''',
        "another result than its example",
        "returns 6 instead of 7",
        examples=(shows(7, first=1, last=7),),
    ),
    Candidate(
        "wrong_inside",
        '''
        def wrong_inside(words: list[str]) -> dict[str, list[int]]:
            """Where each word occurs."""
            return {word: [str(words.index(word))] for word in words}
        ''',
        "texts where numbers are promised, deep inside",
        "which is not what its signature says",
    ),
    Candidate(
        "sometimes_nothing",
        '''
        def sometimes_nothing(values: list[float]) -> float:
            """The largest value."""
            return max(values) if values else None
        ''',
        "nothing for an empty list, although a number is promised",
        "sometimes_nothing(values=[]) returns null",
    ),
]
