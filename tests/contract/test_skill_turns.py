"""Skills in conversations: made, approved, called, kept, and taken back; in a real sandbox."""

import json

import pytest
from tests.integration.stories import SESSION, ended, told

from long_running_agents.domain.approval import GrantDuration
from long_running_agents.domain.events import ApprovalRequested, SkillChanged
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.skill import SkillApproval, SkillCreator, SkillDraft, SkillOrigin
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import SandboxUnavailable
from long_running_agents.store import ledger
from long_running_agents.testing import ScriptedModel, call, make_app, say

pytestmark = pytest.mark.anyio

AUTO = {"agent__skills__approval": "auto"}
RSI = '''def calculate_rsi(prices: list[float], period: int = 14) -> list[float]:
    """Calculate Relative Strength Index for price data."""
    deltas = [prices[i] - prices[i-1] for i in range(1, len(prices))]
    gains = [d if d > 0 else 0 for d in deltas]
    losses = [-d if d < 0 else 0 for d in deltas]

    avg_gain = sum(gains[:period]) / period
    avg_loss = sum(losses[:period]) / period

    rs = avg_gain / avg_loss if avg_loss != 0 else 0
    rsi = 100 - (100 / (1 + rs))
    return [rsi]  # Simplified for example
'''
PRICES = [100, 102, 101, 103, 105]
WRITE = call("execute_code", code=f"_ = open('rsi_calculator.py', 'w').write({RSI!r})")
PROMOTE = call(
    "promote_skill",
    file_path="rsi_calculator.py",
    function_name="calculate_rsi",
    tool_name="calculate_rsi",
)
USE = call("calculate_rsi", prices=PRICES, period=14)
DOUBLE = 'def double(number: int) -> int:\n    """Twice as much."""\n    return 2 * number\n'
MAKE = call("generate_tool", name="double", code=DOUBLE)


async def results(app, turn):
    """What the model was told of each call."""
    calls = await app.database.read(lambda tx: ledger.of_turn(tx, turn.id))
    return [json.loads(each.result) for each in calls]


async def test_a_function_is_written_promoted_and_called_at_the_next_step(tmp_path):
    model = ScriptedModel([WRITE, PROMOTE, USE, say("The RSI is 86."), USE, say("again")])
    async with make_app(tmp_path, model=model, **AUTO) as app:
        turn = await ended(app, "Make a tool for the RSI")
        _, promoted, used = await results(app, turn)
        assert "calculate_rsi version 1 is a tool from the next step on." in promoted
        assert json.loads(used) == pytest.approx([85.714286])
        assert "calculate_rsi" not in model.tools_offered[1]
        assert "calculate_rsi" in model.tools_offered[2]
        # Another conversation of the same person has it, too.
        other = await ended(app, "Again", SessionId("other"))
        assert json.loads((await results(app, other))[0]) == pytest.approx([85.714286])
        assert (tmp_path / "workspace/skills/calculate_rsi.py").read_text() == RSI


async def test_it_is_still_there_after_a_restart_and_nobody_else_has_it(tmp_path):
    model = ScriptedModel([MAKE, say("made"), call("double", number=4), say("8"), say("no such")])
    async with make_app(tmp_path, model=model, **AUTO) as app:
        await ended(app, "Make it")
    async with make_app(tmp_path, model=model, **AUTO) as app:
        turn = await ended(app, "Use it")
        assert await results(app, turn) == ["8"]
        stranger = app.turns.of("ann")
        theirs = await stranger.start(SessionId("hers"), "Use it")
        await stranger.settled(theirs.id)
        assert "double" in model.tools_offered[-2]
        assert "double" not in model.tools_offered[-1]
        assert await app.workshop.library.of("ann").every() == []


async def test_a_person_is_asked_with_the_trial_already_done_and_a_yes_makes_it_a_tool(tmp_path):
    model = ScriptedModel([MAKE, call("double", number=4), say("8")])
    async with make_app(tmp_path, model=model) as app:
        turn = await ended(app, "Make it")
        assert turn.status is TurnStatus.WAITING
        [asked] = await told(app, ApprovalRequested)
        assert "double (version 1) be used as a tool" in asked.question
        assert "Tried: double(number=" in asked.question
        assert (await app.workshop.library.get("double")).state == "proposed"
        await app.turns.answer(asked.approval_id, allowed=True)
        turn = await app.turns.settled(turn.id)
        assert (turn.status, turn.answer) == (TurnStatus.DONE, "8")
        changes = [each.change for each in await told(app, SkillChanged)]
        assert changes == ["proposed", "enabled"]


async def test_the_question_survives_a_restart(tmp_path):
    model = ScriptedModel([MAKE, call("double", number=4), say("8")])
    async with make_app(tmp_path, model=model) as app:
        turn = await ended(app, "Make it")
    async with make_app(tmp_path, model=model) as app:
        [asked] = await told(app, ApprovalRequested)
        await app.turns.answer(asked.approval_id, allowed=True)
        assert (await app.turns.settled(turn.id)).answer == "8"
        assert len(await app.workshop.library.versions("double")) == 1


async def test_a_no_is_a_no_to_the_version(tmp_path):
    model = ScriptedModel([MAKE, say("A pity."), MAKE, say("I may not.")])
    async with make_app(tmp_path, model=model) as app:
        turn = await ended(app, "Make it")
        [asked] = await told(app, ApprovalRequested)
        await app.turns.answer(asked.approval_id, allowed=False, reason="not this")
        turn = await app.turns.settled(turn.id)
        assert "not this" in (await results(app, turn))[0]
        assert (await app.workshop.library.version("double")).standing is SkillApproval.REJECTED
        again = await ended(app, "Try once more")
        assert "was rejected as it is" in (await results(app, again))[0]


async def test_a_session_may_grant_what_comes_later_in_it(tmp_path):
    triple = DOUBLE.replace("double", "triple").replace("2 * number", "number + number + number")
    model = ScriptedModel(
        [
            MAKE,
            call("generate_tool", name="triple", code=triple),
            call("triple", number=3),
            say("9"),
        ]
    )
    async with make_app(tmp_path, model=model) as app:
        turn = await ended(app, "Make both")
        [asked] = await told(app, ApprovalRequested)
        await app.turns.answer(asked.approval_id, allowed=True, lasting=GrantDuration.SESSION)
        turn = await app.turns.settled(turn.id)
        assert turn.answer == "9"
        assert len(await told(app, ApprovalRequested)) == 1


async def test_where_nobody_is_there_it_is_only_proposed(tmp_path):
    model = ScriptedModel([MAKE, say("Somebody has to approve it.")])
    async with make_app(tmp_path, model=model) as app:
        turn = await ended(app, "Make it", attended=False)
        assert "lra skills approve double" in (await results(app, turn))[0]
        assert (await app.workshop.library.get("double")).state == "proposed"
        skill = await app.workshop.library.approve("double", by="person")
        assert skill.state == "enabled"


async def test_what_is_wrong_is_told_with_line_and_repair_and_nothing_is_kept(tmp_path):
    bad = "import os\ndef peek(name):\n    return os.environ[name]\n"
    model = ScriptedModel([call("generate_tool", name="peek", code=bad), say("I see.")])
    async with make_app(tmp_path, model=model, **AUTO) as app:
        turn = await ended(app, "Make it")
        told_ = (await results(app, turn))[0]
        assert "line 1" in told_
        assert "line 2" in told_
        assert await app.workshop.library.every() == []


async def test_a_body_alone_becomes_a_function(tmp_path):
    make = call(
        "generate_tool",
        name="add_up",
        code="return sum(numbers)",
        doc="Add numbers up.",
        args={"numbers": "list[float]"},
        examples=[{"args": {"numbers": [1, 2]}, "result": 3}],
    )
    model = ScriptedModel([make, call("add_up", numbers=[1, 2, 3]), say("6")])
    async with make_app(tmp_path, model=model, **AUTO) as app:
        turn = await ended(app, "Make it")
        assert (await results(app, turn))[1] == "6"


async def test_a_skill_that_keeps_failing_is_disabled_and_the_user_is_told(tmp_path):
    fragile = (
        "def invert(number: float) -> float:\n"
        '    """One divided by it.\n\n    >>> invert(2.0)\n    0.5\n    """\n'
        "    return 1 / number\n"
    )
    model = ScriptedModel(
        [
            call("generate_tool", name="invert", code=fragile),
            *[call("invert", number=0)] * 3,
            say("It does not work."),
        ]
    )
    async with make_app(tmp_path, model=model, agent__skills__failures=3, **AUTO) as app:
        turn = await ended(app, "Invert zero")
        assert "ZeroDivisionError" in (await results(app, turn))[1]
        changed = (await told(app, SkillChanged))[-1]
        assert changed.change == "disabled"
        assert "3 times in a row" in changed.note
        skill = await app.workshop.library.get("invert")
        assert (skill.state, skill.calls, skill.failures) == ("disabled", 3, 3)
        assert "invert" not in model.tools_offered[-1]
        assert (await app.workshop.library.enable("invert", by="person")).state == "enabled"


async def test_what_was_disabled_is_a_tool_again_only_after_a_yes(tmp_path):
    model = ScriptedModel([MAKE, say("made"), MAKE, call("double", number=4), say("8")])
    async with make_app(tmp_path, model=model, **AUTO) as app:
        library = app.workshop.library
        await ended(app, "Make it")
        await library.disable("double", "it is too slow", by="person")
        turn = await ended(app, "Make it again")
        assert turn.status is TurnStatus.WAITING
        [asked] = await told(app, ApprovalRequested)
        assert "The skill is disabled: it is too slow." in asked.question
        assert (await library.get("double")).state == "disabled"
        await app.turns.answer(asked.approval_id, allowed=True)
        turn = await app.turns.settled(turn.id)
        assert (turn.status, turn.answer) == (TurnStatus.DONE, "8")
        assert (await library.get("double")).state == "enabled"
        assert len(await library.versions("double")) == 1


async def test_where_nobody_is_there_what_was_disabled_rests_and_the_model_is_told(tmp_path):
    model = ScriptedModel([MAKE, say("made"), MAKE, say("Somebody has to approve it.")])
    async with make_app(tmp_path, model=model, **AUTO) as app:
        await ended(app, "Make it")
        await app.workshop.library.disable("double", by="person")
        [said] = await results(app, await ended(app, "Make it again", attended=False))
        assert "double version 1 is not in use" in said
        assert "lra skills approve double --version 1" in said
        assert (await app.workshop.library.get("double")).state == "disabled"
        assert "double" not in model.tools_offered[-1]


async def test_an_earlier_version_does_not_take_the_place_of_the_one_in_use_by_itself(tmp_path):
    better = DOUBLE.replace("2 * number", "number + number")
    model = ScriptedModel(
        [MAKE, call("generate_tool", name="double", code=better), say("made"), MAKE, say("As is.")]
    )
    async with make_app(tmp_path, model=model, **AUTO) as app:
        library = app.workshop.library
        await ended(app, "Make it, and make it better")
        turn = await ended(app, "Make the first one again")
        [asked] = await told(app, ApprovalRequested)
        assert "Version 2 is in use instead." in asked.question
        await app.turns.answer(asked.approval_id, allowed=False)
        assert (await app.turns.settled(turn.id)).answer == "As is."
        assert (await library.get("double")).uses(2)
        assert (await library.version("double", 1)).standing is SkillApproval.APPROVED


async def test_wrong_arguments_are_refused_before_anything_runs_and_do_not_count(tmp_path):
    model = ScriptedModel([MAKE, call("double", number="four"), say("Sorry.")])
    async with make_app(tmp_path, model=model, **AUTO) as app:
        turn = await ended(app, "Make it")
        assert "is not of type 'integer'" in (await results(app, turn))[1]
        assert (await app.workshop.library.get("double")).calls == 0


async def test_without_walls_no_skill_is_called_unless_somebody_watches(tmp_path):
    person = SkillOrigin(origin=SkillCreator.PERSON)
    async with make_app(tmp_path, model=ScriptedModel([]), sandbox__unsafe_local=True) as app:
        library = app.workshop.library
        await library.create(SkillDraft(source=DOUBLE, brought=person), enable=True, by="person")
        four = {"number": 4}
        assert (await library.call("double", four, where=person, context={})).value == 8
        with pytest.raises(SandboxUnavailable, match="nobody is there"):
            await library.call("double", four, where=person, context={}, attended=False)
        assert (await library.get("double")).calls == 1


async def test_a_function_that_takes_a_context_knows_where_it_is_called(tmp_path):
    where = (
        "async def where(context: dict, greeting: str) -> str:\n"
        '    """Say where."""\n'
        "    return f'{greeting} {context[\"session_id\"]}'\n"
    )
    model = ScriptedModel(
        [
            call("generate_tool", name="where", code=where),
            call("where", greeting="Hello"),
            say("done"),
        ]
    )
    async with make_app(tmp_path, model=model, **AUTO) as app:
        turn = await ended(app, "Where?")
        assert (await results(app, turn))[1] == f"Hello {SESSION}"


async def test_the_model_hears_that_the_settings_do_not_let_it_call_what_it_made(tmp_path):
    model = ScriptedModel([MAKE, say("So be it.")])
    allowed = {"agent__tools__allow": ["generate_tool"]}
    async with make_app(tmp_path, model=model, **AUTO, **allowed) as app:
        turn = await ended(app, "Make a tool")
        [made] = await results(app, turn)
    assert "it cannot be called: agent.tools.allow in the settings does not name it" in made
    assert "double" not in model.tools_offered[1]
