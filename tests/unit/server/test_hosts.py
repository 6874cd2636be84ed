"""Which hosts and origins are ours."""

import pytest

from long_running_agents.net.listen import is_loopback
from long_running_agents.server.hosts import (
    host_of,
    is_foreign_embedding,
    is_known,
    is_listed,
    is_same_origin,
    neighbourhood,
    plain_address,
)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("localhost:8000", "localhost"),
        ("LocalHost", "localhost"),
        ("127.0.0.1:8000", "127.0.0.1"),
        ("[::1]:8000", "::1"),
        ("[0:0:0:0:0:0:0:1]", "::1"),
        ("agent.example.org", "agent.example.org"),
        ("", None),
        ("::1", None),
        ("[zz]:1", None),
        ("user@localhost", None),
        ("localhost/evil.example", None),
        ("localhost:8000:9000", None),
        ("localhost, evil.example", None),
        ("localhost evil.example", None),
        ("localhost:", None),
        ("löcalhost", None),
    ],
)
def test_a_host_header_is_read_in_one_way_only(text, host):
    assert host_of(text) == host


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
def test_names_of_this_machine_are_known(host):
    assert is_loopback(host)
    assert is_known(host, "192.0.2.7", ())


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.localhost",
        "0.0.0.0",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "192.0.2.8",
    ],
)
def test_names_that_may_lead_here_are_not_known_for_that(host):
    assert not is_known(host, "192.0.2.7", ("agent.example.org", "*.lan.example.org"))


@pytest.mark.parametrize("host", ["192.0.2.7", "agent.example.org", "a.lan.example.org"])
def test_the_own_address_and_the_names_that_were_set_are_known(host):
    assert is_known(host, "192.0.2.7", ("Agent.example.org", "*.lan.example.org"))


def test_a_name_without_a_dot_before_it_is_not_one_of_a_group():
    assert not is_known("evillan.example.org", "", ("*.lan.example.org",))


@pytest.mark.parametrize(
    ("origin", "scheme", "host", "same"),
    [
        ("http://localhost:8000", "http", "localhost:8000", True),
        ("http://localhost:8000", "ws", "localhost:8000", True),
        ("https://agent.example", "https", "agent.example:443", True),
        ("https://agent.example", "wss", "agent.example", True),
        ("http://[::1]:8000", "http", "[::1]:8000", True),
        ("http://[::1]", "http", "[::1]:80", True),
        ("https://localhost:8000", "http", "localhost:8000", False),
        ("http://localhost:3000", "http", "localhost:8000", False),
        ("http://localhost", "http", "localhost:8000", False),
        ("http://127.0.0.1:8000", "http", "localhost:8000", False),
        ("http://evil.example", "http", "localhost:8000", False),
        ("http://localhost:8000.evil.example", "http", "localhost:8000", False),
        ("http://x@localhost:8000", "http", "localhost:8000", False),
        ("null", "http", "localhost:8000", False),
        ("", "http", "localhost:8000", False),
        ("http://[", "http", "localhost:8000", False),
    ],
)
def test_a_page_is_ours_only_if_it_came_from_the_same_place(origin, scheme, host, same):
    assert is_same_origin(origin, scheme, host) is same


def test_no_setting_can_allow_pages_of_no_site():
    assert is_listed("https://Chat.example", ("https://chat.example/",))
    assert not is_listed("https://chat.example.evil", ("https://chat.example",))
    assert not is_listed("null", ("null",))


@pytest.mark.parametrize(
    ("site", "mode", "method", "foreign"),
    [
        ("", "", "GET", False),
        ("same-origin", "cors", "POST", False),
        ("none", "navigate", "GET", False),
        ("cross-site", "navigate", "GET", False),
        ("cross-site", "navigate", "POST", True),
        ("cross-site", "no-cors", "GET", True),
        ("same-site", "no-cors", "GET", True),
    ],
)
def test_a_browser_that_says_who_embeds_us_is_believed(site, mode, method, foreign):
    assert is_foreign_embedding(site, mode, method) is foreign


def test_whoever_has_a_whole_network_counts_as_one():
    assert neighbourhood("2001:db8::1") == neighbourhood("2001:db8::ffff:1")
    assert neighbourhood("2001:db8::1") != neighbourhood("2001:db8:0:1::1")
    assert neighbourhood("192.0.2.1") == plain_address("::ffff:192.0.2.1") == "192.0.2.1"
    assert plain_address("fe80::1%eth0") == "fe80::1"
