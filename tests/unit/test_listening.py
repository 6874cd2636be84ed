import socket

import pytest

from long_running_agents.errors import Unavailable
from long_running_agents.net.listen import listening


def test_an_answer_does_not_wait_for_the_rest_of_it():
    with (
        listening("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_that_is_taken_is_named():
    with (
        listening("127.0.0.1", 0) as listener,
        pytest.raises(Unavailable, match=f"port {listener.getsockname()[1]}"),
    ):
        listening("127.0.0.1", listener.getsockname()[1])
