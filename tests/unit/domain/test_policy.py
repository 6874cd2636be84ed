import pytest

from long_running_agents.domain.policy import Allow, Ask, Deny, Rules, decide

OPEN = Rules()
ONLY_SHELL = Rules(allow=["shell"])
NOTHING = Rules(allow=[])
ASKS = Rules(require_approval=["shell"])
ASKS_FOR_FORBIDDEN = Rules(allow=["files"], require_approval=["shell"])


@pytest.mark.parametrize(
    ("rules", "attended", "decision"),
    [
        (OPEN, True, Allow),
        (OPEN, False, Allow),
        (ONLY_SHELL, True, Allow),
        (Rules(allow=["files"]), True, Deny),
        (NOTHING, True, Deny),
        (ASKS, True, Ask),
        (ASKS, False, Deny),
        (ASKS_FOR_FORBIDDEN, True, Deny),
        (Rules(require_approval=["files"]), False, Allow),
    ],
)
def test_a_call_is_allowed_asked_about_or_denied(rules, attended, decision):
    assert isinstance(decide("shell", rules, attended=attended), decision)


def test_a_refusal_names_the_tool_and_the_setting():
    assert (
        "'shell' is not among the allowed tools (agent.tools.allow)"
        in decide("shell", NOTHING, attended=True).reason
    )
    assert "nobody is there" in decide("shell", ASKS, attended=False).reason
    assert "agent.tools.require_approval" in decide("shell", ASKS, attended=True).reason
