"""The candidates that have to become skills."""

from tests.contract.skills.good_numbers import NUMBERS
from tests.contract.skills.good_shapes import SHAPES
from tests.contract.skills.good_texts import TEXTS

GOOD = [*NUMBERS, *TEXTS, *SHAPES]
