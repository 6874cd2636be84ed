"""The candidates that must not become skills, by what is wrong with them."""

from tests.contract.skills.bad_form import HINTS, IMPORTS, NAMES, SYNTAX
from tests.contract.skills.bad_reaching import COPIES, ESCAPES, SECRETS
from tests.contract.skills.bad_running import CRASHES, HANGS, MEMORY, OUTPUT

BAD = [
    *SYNTAX,
    *HINTS,
    *IMPORTS,
    *NAMES,
    *CRASHES,
    *HANGS,
    *MEMORY,
    *OUTPUT,
    *ESCAPES,
    *COPIES,
    *SECRETS,
]
