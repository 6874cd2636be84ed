import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain.call import Call
from long_running_agents.domain.taint import Taint, concern, plain, seen_in
from long_running_agents.domain.tool import Power


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("See https://a.example/x.", "https://a.example/x"),
        ("(https://a.example/x)", "https://a.example/x"),
        ("[docs](https://a.example/x?y=1)", "https://a.example/x?y=1"),
        ('<a href="https://a.example/?a=1&amp;b=2">', "https://a.example/?a=1&b=2"),
        ("https://a.example", "https://a.example/"),
    ],
)
def test_addresses_are_found_in_what_was_read(text, address):
    assert address in seen_in([], [("", text)])


def test_links_are_relative_to_where_they_were_read():
    seen = seen_in([], [("https://a.example/docs/", "[next](page2.html) <a href='/top'>up</a>")])

    assert seen >= {"https://a.example/docs/page2.html", "https://a.example/top"}


def test_people_leave_out_the_beginning_and_pages_do_not():
    assert "https://docs.example/x" in seen_in(["look at docs.example/x, please"], [])
    assert "https://docs.example/x" not in seen_in([], [("", "look at docs.example/x, please")])


@given(
    st.from_regex(r"https://[a-z]{1,8}\.example/[a-z0-9/?=&]{0,20}", fullmatch=True),
    st.text(alphabet="abc019-_~", min_size=1, max_size=5),
)
def test_one_letter_more_or_less_is_another_address(address, more):
    seen = seen_in([f"see {address} now"], [])

    assert plain(address) in seen
    assert plain(address + more) not in seen
    assert plain(address.replace("https://", f"https://{more}")) not in seen


def test_a_tool_that_says_nothing_of_itself_is_told_so():
    call = Call(tool="mystery", powers=frozenset(Power))

    assert "does not say what it can do" in concern(call, Taint(sources=("a page",)))
    assert concern(call, Taint()) == ""


def test_the_sources_are_told_the_newest_last():
    assert Taint(sources=("a", "b")).told == "a, b"
    assert Taint(sources=("a", "b", "c", "d", "e")).told == "c, d, e and 2 more"


@pytest.mark.parametrize(
    ("args", "source"),
    [
        ({"url": "https://a.example"}, "https://a.example"),
        ({"path": "mail/1.eml"}, "mail/1.eml"),
        ({"query": "cheap flights"}, "cheap flights"),
        ({"number": 3}, "the tool look"),
    ],
)
def test_a_source_is_what_was_asked_for(args, source):
    assert Call(tool="look", args=args).source == source
