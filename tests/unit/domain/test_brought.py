"""What a client brings along, as a turn keeps it."""

from long_running_agents.domain.turn import ClientRequest, ClientTool, brought


def test_what_was_brought_is_kept_as_it_was():
    tool = ClientTool(name="look", description="d", schema={"type": "object", "required": ["a"]})
    given = ClientRequest(instructions="Be brief.", tools=(tool,))
    assert brought(given.to_json()) == given
    assert given.names == {"look"}


def test_nothing_is_kept_as_nothing():
    assert ClientRequest().to_json() is None
    assert brought(None) == ClientRequest()
