import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.errors import AddressRefused, Unavailable
from long_running_agents.net.addresses import allows, check_host, check_url, checked, is_public

CASES = Path(__file__).parents[1] / "attacks" / "urls.jsonl"
URLS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
NAMES = [case for case in URLS if case.get("names")]
"""Cases that can only be told by what their name resolves to."""
PUBLIC = ("93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c")
PRIVATE = ("127.0.0.1", "10.1.2.3", "::1", "fe80::1%eth0", "169.254.169.254", "no address")


async def resolved(*addresses):
    return addresses


@pytest.mark.parametrize("case", [c for c in URLS if c not in NAMES], ids=lambda case: case["id"])
def test_a_url_that_leads_inside_is_refused_before_any_look_up(case):
    with pytest.raises(AddressRefused):
        check_url(case["code"])


@pytest.mark.anyio
@pytest.mark.parametrize("case", NAMES, ids=lambda case: case["id"])
async def test_a_name_that_leads_inside_is_refused_when_it_is_resolved(case):
    target = check_url(case["code"])

    with pytest.raises(AddressRefused):
        await checked(target.host, target.port, resolve=lambda *_: resolved(*case["names"]))


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://example.org/a?b#c", ("https", "example.org", 443)),
        ("HTTP://Example.ORG.:80/", ("http", "example.org", 80)),
        ("https://bücher.example/", ("https", "xn--bcher-kva.example", 443)),
        ("http://93.184.215.14/", ("http", "93.184.215.14", 80)),
        ("http://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/", ("http", PUBLIC[1], 80)),
    ],
)
def test_a_url_of_the_web_is_read(url, target):
    found = check_url(url)

    assert (found.scheme, found.host, found.port) == target


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_open_internet_are_public(address):
    assert is_public(address)


@pytest.mark.parametrize("address", PRIVATE)
def test_all_others_are_not(address):
    assert not is_public(address)


@given(st.ip_addresses(network="10.0.0.0/8") | st.ip_addresses(network="127.0.0.0/8"))
def test_no_way_to_write_a_private_address_gets_by(address):
    parts = str(address).split(".")
    spellings = [
        str(address),
        str(int(address)),
        hex(int(address)),
        ".".join(hex(int(part)) for part in parts),
        ".".join(f"0{int(part):o}" for part in parts),
        f"::ffff:{address}",
        f"64:ff9b::{address}",
    ]
    for spelling in spellings:
        with pytest.raises(AddressRefused):
            check_host(spelling)


@pytest.mark.anyio
async def test_a_name_is_as_good_as_the_worst_of_its_addresses():
    assert await checked("a.example", 80, resolve=lambda *_: resolved(*PUBLIC)) == PUBLIC[0]
    with pytest.raises(AddressRefused):
        await checked("a.example", 80, resolve=lambda *_: resolved(PUBLIC[0], "10.0.0.1"))
    with pytest.raises(Unavailable):
        await checked("a.example", 80, resolve=lambda *_: resolved())


@pytest.mark.parametrize(
    ("entry", "host", "port", "allowed"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "example.org", 80, True),
        ("example.org", "example.org", 8443, False),
        ("example.org:8443", "example.org", 8443, True),
        ("example.org:8443", "example.org", 443, False),
        ("example.org", "www.example.org", 443, False),
        ("*.example.org", "www.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "evilexample.org", 443, False),
        ("example.org", "example.org.evil.test", 443, False),
    ],
)
def test_an_allow_list_means_what_it_says(entry, host, port, allowed):
    assert allows([entry], host, port) is allowed


def test_an_empty_allow_list_allows_nothing():
    assert not allows([], "example.org", 443)
