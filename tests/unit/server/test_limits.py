"""How often, and how many."""

import pytest

from long_running_agents.server.connections import ConnectionEnd, Connections, RateLimit, share
from long_running_agents.server.serve import places
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio

FAR = "192.0.2.7"


def test_a_rate_lets_a_burst_pass_and_says_how_long_to_wait():
    rate = RateLimit(FrozenClock(), per_minute=6, burst=2)

    assert [rate.take("a"), rate.take("a")] == [0, 0]
    assert rate.take("a") == 10
    assert rate.take("b") == 0


async def test_a_rate_recovers_with_time():
    clock = FrozenClock()
    rate = RateLimit(clock, per_minute=6, burst=2)
    for _ in range(3):
        rate.take("a")

    await clock.advance(10)

    assert rate.take("a") == 0
    assert rate.take("a") > 0


def test_a_rate_does_not_remember_the_whole_world():
    rate = RateLimit(FrozenClock(), per_minute=6, burst=2)

    for number in range(20_000):
        rate.take(number)

    assert len(rate._left) == 10_000


def test_another_machine_gets_a_part_and_this_one_all():
    assert (share(FAR, 100), share("127.0.0.1", 100), share(FAR, 1)) == (25, 100, 1)


def test_sockets_are_counted_in_all_and_for_each_address():
    connections = Connections(4)

    with connections.socket(FAR):
        assert connections.full(FAR)
        assert not connections.full("127.0.0.1")
        with connections.socket("a"), connections.socket("b"), connections.socket("127.0.0.1"):
            assert connections.full("127.0.0.1")
    assert (connections.sockets, connections.full(FAR)) == (0, False)


def test_a_token_takes_only_what_came_in_by_it():
    connections, heard = Connections(4), []
    end_one = lambda why: heard.append(("one", why))  # noqa: E731
    end_two = lambda why: heard.append(("two", why))  # noqa: E731

    with connections.registered("one", end_one), connections.registered(None, end_two):
        connections.end_of("one")
        assert heard == [("one", ConnectionEnd.UNAUTHORIZED)]
        connections.end_all()
    connections.end_all()

    assert sorted(heard[1:]) == [("one", ConnectionEnd.LEAVING), ("two", ConnectionEnd.LEAVING)]


def test_few_handles_mean_few_places():
    assert places(1000, 2256) == 1000
    assert places(1000, 1500) == 244
    assert places(1000, 1024) == 16
