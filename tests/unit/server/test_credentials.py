"""Where a token may be, and where it must not be."""

import pytest

from long_running_agents.domain.auth import new_secret, plausible
from long_running_agents.domain.redaction import Redactor
from long_running_agents.server.auth import in_address, presented, spoken

SECRET = "lra_" + "Ab-9_" * 8 + "xyz"


@pytest.mark.parametrize(
    "text",
    ["", "undefined", "null", "None", "lra_", "lra_short", "x" * 47, SECRET + "\n", SECRET[:-1]],
)
def test_what_cannot_be_a_token_is_known_by_its_looks(text):
    assert plausible(SECRET)
    assert plausible(new_secret())
    assert not plausible(text)


@pytest.mark.parametrize(
    "query",
    ["token=x", "TOKEN=", "a=1&api_key=2", "access_token=x", "%74oken=x", f"q={SECRET}", "auth=1",
     "&".join(f"a{number}=" for number in range(2000))],
)  # fmt: skip
def test_secrets_in_addresses_are_found(query):
    assert in_address(query.encode())


@pytest.mark.parametrize("query", ["", "range=7d", "q=what+is+a+token", "tokens=5", "max_tokens=3"])
def test_what_only_speaks_of_secrets_is_no_secret(query):
    assert not in_address(query.encode())


@pytest.mark.parametrize(
    ("headers", "protocols", "found"),
    [
        ({}, [], None),
        ({"authorization": f"Bearer {SECRET}"}, [], SECRET),
        ({"authorization": f"bearer  {SECRET} "}, [], SECRET),
        ({"authorization": "Basic abc"}, [], ""),
        ({"authorization": ""}, [], ""),
        ({"authorization": "Bearer"}, [], ""),
        ({}, ["lra", f"lra.token.{SECRET}"], SECRET),
        ({"cookie": f"a=b; lra_token={SECRET}; c=d"}, [], SECRET),
        ({"cookie": "xlra_token=1"}, [], None),
        ({"cookie": "lra_token=old", "authorization": f"Bearer {SECRET}"}, [], SECRET),
        ({"cookie": "lra_token=old"}, [f"lra.token.{SECRET}"], SECRET),
    ],
)
def test_what_a_program_says_goes_before_what_a_browser_adds(headers, protocols, found):
    assert presented(headers, protocols) == found


def test_the_protocol_that_carries_a_token_goes_no_further():
    assert spoken(["lra", f"lra.token.{SECRET}"]) == ["lra"]


def test_a_token_that_somebody_writes_down_is_redacted():
    assert Redactor()(f"my token is {SECRET}.") == "my token is [redacted]."
