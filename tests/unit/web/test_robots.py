import time

import pytest

from long_running_agents.web.fetch import EVERYTHING, SIZE, read


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("Disallow: /", "/", False),
        ("Disallow:", "/", True),
        ("Disallow: /a", "/b", True),
        ("Disallow: /a", "/abc", False),
        ("Disallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("Allow: /a/b\nDisallow: /a", "/a/c", False),
        ("Allow: /a\nDisallow: /a", "/a", True),
        ("Disallow: /*.pdf$", "/x/y.pdf", False),
        ("Disallow: /*.pdf$", "/x/y.pdf?a", True),
        ("Disallow: /*?", "/x?y", False),
        ("Disallow: /a*b*c", "/a--b--c--", False),
        ("Disallow: /a*b*c$", "/a--b--c--", True),
        ("Disallow: /a*a$", "/a", True),
        ("Disallow: /ä", "/%c3%a4", False),
        ("Disallow: /%7Ejoe", "/~joe", False),
        ("Disallow: /a # not b", "/a", False),
        ("disallow : /a", "/a", False),
        ("Nonsense: /a", "/a", True),
    ],
)
def test_the_longest_rule_decides(rules, path, allowed):
    assert read(f"User-agent: *\n{rules}", "me").allows(path) is allowed


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("User-agent: *\nDisallow: /\n\nUser-agent: me\nDisallow:", True),
        ("User-agent: *\nDisallow:\n\nUser-agent: ME/2.0\nDisallow: /", False),
        ("User-agent: you\nUser-agent: me\nDisallow: /", False),
        ("User-agent: you\nDisallow: /", True),
        ("User-agent: me\nDisallow: /x\nUser-agent: you\nDisallow: /a", True),
        ("User-agent: me\nDisallow: /x\nUser-agent: me\nDisallow: /a", False),
        ("Disallow: /", True),
        ("", True),
        ("\0\ufeff<html>Not found</html>", True),
    ],
)
def test_our_own_group_counts_before_the_one_for_all(text, allowed):
    assert read(text, "me").allows("/a") is allowed


def test_a_site_that_asks_for_nothing_allows_everything():
    assert EVERYTHING.allows("/anything")


def test_hostile_rules_take_no_time():
    rule = f"Disallow: /{'*a' * 900}b\n"
    text = "User-agent: *\n" + rule * (SIZE // len(rule))
    began = time.monotonic()

    assert read(text, "me").allows("/" + "a" * 5000)
    assert time.monotonic() - began < 5
