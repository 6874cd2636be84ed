"""Whose program is at the other end of a connection."""

import os
import socket
import sys

import pytest

from long_running_agents.server.auth import PeerCredentials, can_be_known

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose a socket is")

NOBODY = 65534
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a socket away")


class Transport:
    """What asyncio says of an accepted connection."""

    def __init__(self, accepted):
        self._told = {
            "socket": accepted,
            "peername": accepted.getpeername(),
            "sockname": accepted.getsockname(),
        }

    def get_extra_info(self, name):
        return self._told[name]


@pytest.fixture(params=["127.0.0.1", "::1"])
def ends(request):
    """A client and the peer that a server sees of it."""
    host = request.param
    family = socket.AF_INET6 if host == "::1" else socket.AF_INET
    with (
        socket.create_server((host, 0), family=family) as listener,
        socket.create_connection((host, listener.getsockname()[1])) as client,
        listener.accept()[0] as accepted,
    ):
        peer = PeerCredentials()
        peer.transport = Transport(accepted)
        yield client, peer


def test_it_can_be_known_here():
    assert can_be_known()


def test_our_own_program_is_us(ends):
    _, peer = ends
    assert peer.is_us


def test_a_local_socket_says_whose_it_is():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        peer = PeerCredentials()
        peer.transport = Transport(ours)
        assert peer.is_us


def test_one_that_only_has_nothing_more_to_say_is_still_us(ends):
    client, peer = ends
    client.shutdown(socket.SHUT_WR)
    assert peer.is_us


@root_only
def test_another_users_program_is_not_us(ends):
    client, peer = ends
    os.fchown(client.fileno(), NOBODY, -1)
    assert not peer.is_us


@root_only
def test_a_socket_that_its_program_has_closed_is_not_taken_for_roots(ends):
    client, peer = ends
    os.fchown(client.fileno(), NOBODY, -1)
    client.close()
    assert not peer.is_us


def test_it_is_asked_only_once(ends):
    client, peer = ends
    assert peer.is_us
    client.close()
    assert peer.is_us
