"""Good candidates that compute."""

from tests.contract.skills.candidate import Candidate, shows

NUMBERS = [
    Candidate(
        "calculate_rsi",
        '''
        def _mean(values: list[float]) -> float:
            return sum(values) / len(values)

        def calculate_rsi(prices: list[float], period: int = 14) -> float:
            """Relative strength index of closing prices.

            Args:
                prices: Closing prices, the oldest first.
                period: How many changes count.
            """
            if len(prices) <= period or period < 1:
                raise ValueError("more prices than the period are needed")
            changes = [after - before for before, after in zip(prices, prices[1:])]
            gains = _mean([max(change, 0.0) for change in changes[-period:]])
            losses = _mean([max(-change, 0.0) for change in changes[-period:]])
            if losses == 0:
                return 100.0
            return 100.0 - 100.0 / (1.0 + gains / losses)
        ''',
        "a helper, a default, and an error for too few prices",
    ),
    Candidate(
        "compound_interest",
        '''
        from decimal import ROUND_HALF_UP, Decimal

        CENT = Decimal("0.01")

        def compound_interest(principal: float, percent: float, years: int) -> str:
            """What a sum grows to, to the cent.

            >>> compound_interest(1000.0, 5.0, 2)
            '1102.50'
            """
            factor = (1 + Decimal(str(percent)) / 100) ** years
            return str((Decimal(str(principal)) * factor).quantize(CENT, rounding=ROUND_HALF_UP))
        ''',
        "decimals, a constant and a doctest",
    ),
    Candidate(
        "median_deviation",
        '''
        import statistics

        def median_deviation(values: list[float]) -> float:
            """Median absolute deviation, which outliers do not move."""
            middle = statistics.median(values)
            return float(statistics.median(abs(value - middle) for value in values))
        ''',
        "fails on an empty list, as the module does, and works on others",
    ),
    Candidate(
        "moving_average",
        '''
        from collections import deque

        def moving_average(values: list[float], window: int = 3) -> list[float]:
            """Averages of neighbouring values.

            Parameters
            ----------
            values : list[float]
                The series.
            window : int
                How many neighbours are averaged.

            Returns
            -------
            list[float]
                One average for each full window.
            """
            if window < 1:
                return []
            seen: deque[float] = deque(maxlen=window)
            found = []
            for value in values:
                seen.append(value)
                if len(seen) == window:
                    found.append(sum(seen) / window)
            return found
        ''',
        "a docstring in the style of NumPy",
    ),
    Candidate(
        "common_divisor",
        '''
        def common_divisor(a: int, b: int) -> int:
            """Greatest common divisor of two whole numbers.

            :param a: One.
            :param b: The other.
            :returns: The largest number that divides both.
            """
            return abs(a) if b == 0 else common_divisor(b, a % b)
        ''',
        "recursion, and a docstring in the style of Sphinx",
        examples=(shows(6, a=54, b=24),),
    ),
    Candidate(
        "primes_up_to",
        '''
        from collections.abc import Iterator

        def _candidates(limit: int) -> Iterator[int]:
            yield from range(2, limit + 1)

        def primes_up_to(limit: int) -> list[int]:
            """All primes that are not larger than a number."""
            found: list[int] = []
            for number in _candidates(limit):
                if all(number % prime for prime in found if prime * prime <= number):
                    found.append(number)
            return found
        ''',
        "a generator inside",
        examples=(shows([2, 3, 5, 7], limit=10),),
    ),
    Candidate(
        "great_circle_distance",
        '''
        import math

        EARTH = 6371.0088

        def great_circle_distance(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
            """Kilometres between two places on earth, along its surface."""
            first, second = math.radians(lat1), math.radians(lat2)
            across = math.radians(lon2 - lon1)
            half = math.sin((second - first) / 2) ** 2
            half += math.cos(first) * math.cos(second) * math.sin(across / 2) ** 2
            return 2 * EARTH * math.asin(math.sqrt(min(half, 1.0)))
        ''',
        "several numbers and a constant",
    ),
    Candidate(
        "spread_of",
        '''
        def spread_of(values: list[float]) -> tuple[float, float, int]:
            """The smallest and the largest value, and how many there are."""
            if not values:
                return 0.0, 0.0, 0
            return min(values), max(values), len(values)
        ''',
        "returns a tuple",
    ),
    Candidate(
        "convert_temperature",
        '''
        from typing import Literal

        Scale = Literal["celsius", "fahrenheit", "kelvin"]

        def convert_temperature(value: float, source: Scale, target: Scale = "celsius") -> float:
            """Convert a temperature from one scale to another."""
            celsius = {
                "celsius": value,
                "fahrenheit": (value - 32) * 5 / 9,
                "kelvin": value - 273.15,
            }[source]
            if target == "fahrenheit":
                return celsius * 9 / 5 + 32
            return celsius + 273.15 if target == "kelvin" else celsius
        ''',
        "literals under a name of their own",
    ),
    Candidate(
        "multiply_matrices",
        '''
        Matrix = list[list[float]]

        def multiply_matrices(left: Matrix, right: Matrix) -> Matrix:
            """The product of two matrices, given row by row."""
            if not left or len(left[0]) != len(right):
                raise ValueError("as many columns on the left as rows on the right are needed")
            columns = list(zip(*right, strict=True))
            return [
                [sum(a * b for a, b in zip(row, column, strict=True)) for column in columns]
                for row in left
            ]
        ''',
        "derived arguments do not fit it, but its example does",
        examples=(shows([[19.0, 22.0]], left=[[1.0, 2.0]], right=[[5.0, 6.0], [7.0, 8.0]]),),
    ),
    Candidate(
        "loan_schedule",
        '''
        from typing import TypedDict

        class Payment(TypedDict):
            month: int
            interest: float
            rest: float

        def loan_schedule(amount: float, percent: float, months: int = 12) -> list[Payment]:
            """How a loan is paid back in equal parts, month by month."""
            rest, found = amount, []
            for month in range(1, months + 1):
                interest = rest * percent / 1200
                rest -= amount / months
                found.append(Payment(month=month, interest=round(interest, 2), rest=round(rest, 2)))
            return found
        ''',
        "returns typed dicts",
    ),
    Candidate(
        "roman_numeral",
        '''
        SIGNS = [
            (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
            (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
        ]

        def roman_numeral(number: int) -> str:
            """Write a whole number as the Romans did.

            Example:
                >>> roman_numeral(1994)
                'MCMXCIV'
            """
            if not 0 < number < 4000:
                raise ValueError("from 1 to 3999")
            found = ""
            for value, sign in SIGNS:
                times, number = divmod(number, value)
                found += sign * times
            return found
        ''',
        "a table, a doctest, and a range that not all numbers are in",
    ),
    Candidate(
        "place_in_sorted",
        '''
        from bisect import bisect_left
        from typing import Optional

        def place_in_sorted(values: list[int], wanted: int) -> Optional[int]:
            """Where a number is in a sorted list; null when it is not there."""
            place = bisect_left(values, wanted)
            return place if place < len(values) and values[place] == wanted else None
        ''',
        "an optional result",
    ),
]
