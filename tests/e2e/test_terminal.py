"""`lra chat` as a person meets it: a real terminal, a real process, a model behind HTTP."""

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pexpect
import pytest
from tests.e2e.terminals import PROMPT_IS_UP, leave, say_to
from tests.scripted_process import scripted_process

from long_running_agents.testing import Rule, Script, ToolCall, say

# Each starts several programs, and a busy machine takes its time.
pytestmark = pytest.mark.timeout(900)
PROGRAM = ["-m", "long_running_agents"]
VARIABLES = {"LRA_AGENT__TOOLS__REQUIRE_APPROVAL": "create_task"}
FOR_EVER = 3600.0
MARKDOWN = (
    "# Birds\n\n- **heron**\n- `stork`\n\n```python\nprint(1)\n```\n\n" + "word " * 40 + "<end>"
)
SCRIPT = Script(
    (
        # Each word of this takes an hour: whoever sees the first one has not seen the end.
        Rule("^endless", (say("alpha beta gamma", chunk_delay=FOR_EVER),)),
        Rule(
            "^plan",
            (
                say("A plan:", calls=(ToolCall("create_task", {"title": "Buy milk"}),)),
                say("So be it."),
            ),
        ),
        Rule("^soya", (say("Soya it is."),)),
        Rule("^recall", (say("We spoke before."),)),
        Rule("two\\s+lines", (say("Both lines arrived."),)),
        Rule("^markdown", (say(MARKDOWN),)),
        Rule("^colour", (say("\x1b[31mcrimson\x1b[0m"),)),
        Rule("", (say("Hello there, friend."),)),
    )
)


@pytest.fixture(scope="module")
def model_url():
    """One model for all of these, so that fewer programs are started."""
    with scripted_process(SCRIPT) as url:
        yield url


def stored(environment, session=None):
    """What is on disk, read by another process."""

    def lra(*arguments):
        return subprocess.run(
            [sys.executable, *PROGRAM, *arguments],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    if session is None:
        session = json.loads(lra("sessions", "list", "--json"))[0]["session"]["id"]
    return lra("sessions", "export", session, "--format", "jsonl")


def test_words_appear_before_the_turn_ends_and_ctrl_c_stops_it(terminal, environment):
    chat = terminal()
    say_to(chat, "endless")
    chat.expect("alpha")
    chat.sendintr()
    chat.expect("stopped, history kept")
    say_to(chat, "hi")
    chat.expect("Hello there, friend")
    chat.expect("1 step")
    assert leave(chat) == 0
    assert '"status": "stopped"' in stored(environment)


def test_ctrl_c_clears_then_warns_then_leaves(terminal):
    chat = terminal()
    chat.send("half a thought")
    chat.expect("thought")
    chat.sendintr()
    chat.sendintr()
    chat.expect("press Ctrl-C again to leave")
    chat.sendintr()
    chat.expect(pexpect.EOF)
    chat.close()
    assert chat.exitstatus == 130


def test_the_model_receives_the_reason_of_a_denial(terminal, model_url):
    chat = terminal()
    say_to(chat, "plan")
    chat.expect("Allow create_task")
    say_to(chat, "only oat milk")
    chat.expect("denied: only oat milk")
    chat.expect("So be it")
    assert leave(chat) == 0
    with urllib.request.urlopen(f"{model_url.removesuffix('/v1')}/requests") as answer:
        received = answer.read().decode()
    assert "The user denied this call: only oat milk." in received


def test_an_allowed_call_runs(terminal):
    chat = terminal()
    say_to(chat, "plan")
    chat.expect("Allow create_task")
    say_to(chat, "y")
    chat.expect("0 of 1 tasks completed")
    chat.expect("So be it")
    say_to(chat, "/tasks")
    chat.expect("#1 Buy milk")
    assert leave(chat) == 0


def test_a_question_outlives_its_process(terminal):
    chat = terminal()
    say_to(chat, "plan")
    chat.expect("Allow create_task")
    assert leave(chat) == 0
    again = terminal("--continue")
    again.expect("Allow create_task")
    say_to(again, "yes")
    again.expect("So be it")


def test_an_answer_for_always_is_asked_for_once(terminal, environment):
    chat = terminal()
    say_to(chat, "plan")
    chat.expect("It asks because 'create_task' is in agent.tools.require_approval")
    chat.expect("are for: create_task")
    chat.expect("for this \\[s\\]ession / \\[a\\]lways")
    say_to(chat, "a")
    chat.expect("allowed \\(always\\)")
    chat.expect("So be it")
    say_to(chat, "plan again")
    chat.expect("So be it")
    assert leave(chat) == 0
    assert stored(environment).count('"type": "approval_request"') == 1


def test_what_is_typed_meanwhile_is_the_next_message(terminal):
    chat = terminal()
    say_to(chat, "endless")
    chat.expect("alpha")
    say_to(chat, "hi")
    chat.expect("queued: hi")
    chat.sendintr()
    chat.expect("stopped, history kept")
    chat.expect("Hello there, friend")


def test_a_key_gives_the_running_turn_a_message_also_while_it_asks(terminal, environment):
    chat = terminal()
    say_to(chat, "plan")
    chat.expect("Allow create_task")
    chat.send("soya milk, please\x07")
    chat.expect("given at the next step: soya milk, please")
    say_to(chat, "y")
    # Told with the step that it was a part of, when that is on disk.
    chat.expect("Soya it is")
    chat.expect("given to the running turn: soya milk, please")
    say_to(chat, "/help")
    chat.expect("Ctrl-G gives it to that turn")
    assert leave(chat) == 0
    assert stored(environment).count('"type": "steered"') == 1
    # Whoever comes back sees the turn that answered.
    again = terminal("--continue", seen="> plan")
    again.expect("Soya it is")


def test_what_no_step_hears_any_more_is_the_next_message(terminal):
    chat = terminal()
    say_to(chat, "endless")
    chat.expect("alpha")
    chat.expect("Enter queues, Ctrl-G steers")
    say_to(chat, "/steer soya")
    chat.expect("given at the next step: soya")
    chat.sendintr()
    chat.expect("stopped, history kept")
    chat.expect("Soya it is")


def test_several_lines_are_one_message(terminal):
    chat = terminal()
    chat.send("two\x1b\rlines\r")
    chat.expect("Both lines arrived")
    chat.expect("1 step")
    # A paste arrives whole, and its line ends do not send it.
    chat.send("\x1b[200~two\r\nlines\r\n\x1b[201~")
    chat.send("\r")
    chat.expect("Both lines arrived")


def test_continue_recalls_the_history_in_a_new_process(terminal, environment):
    chat = terminal()
    say_to(chat, "recall")
    chat.expect("We spoke before")
    chat.expect("1 step")
    assert leave(chat) == 0

    by_option = terminal("--continue", seen="We spoke before")
    by_option.expect_exact(PROMPT_IS_UP)
    say_to(by_option, "hi")
    by_option.expect("Hello there, friend")
    by_option.expect("1 step")
    assert leave(by_option) == 0

    by_command = terminal()
    say_to(by_command, "/continue")
    by_command.expect("going on in")
    by_command.expect("1 earlier turn")
    by_command.expect("Hello there, friend")
    # What is typed before the prompt is there again is lost.
    by_command.expect_exact(PROMPT_IS_UP)
    assert leave(by_command) == 0
    assert stored(environment).count('"kind": "turn"') == 2


def test_a_turn_that_was_killed_goes_on_in_sight(terminal):
    chat = terminal()
    say_to(chat, "endless")
    chat.expect("alpha")
    chat.kill(signal.SIGKILL)
    chat.expect(pexpect.EOF)
    again = terminal("--continue", seen="goes on by itself")
    again.expect("alpha")
    again.sendintr()
    again.expect("stopped, history kept")


def test_the_model_cannot_command_the_terminal(terminal):
    chat = terminal()
    say_to(chat, "colour")
    chat.expect("crimson")
    assert "\x1b[31m" not in chat.before


def test_an_answer_is_rendered_when_it_is_complete(terminal):
    chat = terminal()
    say_to(chat, "markdown")
    chat.expect("1 step")
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", chat.before)
    for part in ("Birds", "• heron", "• stork", "print(1)", "word <end>"):
        assert part in plain


def test_tab_completes_commands_and_plain_words_leave(terminal):
    for word in ("quit", "exit"):
        chat = terminal()
        chat.send("/he\t\r")
        chat.expect("Ctrl-D leaves")
        say_to(chat, word)
        chat.expect(pexpect.EOF)
        chat.close()
        assert chat.exitstatus == 0


def test_work_shows_its_seconds(terminal):
    chat = terminal()
    say_to(chat, "endless")
    # Only what changes is drawn after this: no later line is there in one piece.
    chat.expect("working [0-9]+ s")
    chat.sendintr()
    chat.expect("stopped, history kept")


def test_what_the_model_sees_and_uses(terminal):
    chat = terminal()
    for command, answer in (
        ("/usage", "Nothing was said in this session yet"),
        ("/tools", "read_file"),
        ("hi", "1 step"),
        ("/usage", "1 turns?, 0 tool calls, [0-9,]+ tokens in"),
        ("/context", "tokens in the next request"),
        ("/copy", "\x1b\\]52;c;SGVsbG8g"),
        ("/clear", "context cleared"),
    ):
        say_to(chat, command)
        chat.expect(answer)
    assert leave(chat) == 0


def test_commands_inside_a_conversation(terminal, tmp_path):
    chat = terminal("--session", "mine")
    say_to(chat, "/tasks")
    chat.expect("no tasks")
    say_to(chat, "/helo")
    chat.expect("Did you mean /help")
    say_to(chat, "/help")
    chat.expect("Ctrl-D leaves")
    say_to(chat, "/continue")
    chat.expect("There is no other session")
    say_to(chat, "/stop")
    chat.expect("nothing is running")
    say_to(chat, "hi")
    chat.expect("1 step")
    say_to(chat, "/title Our talk")
    chat.expect("title: Our talk")
    say_to(chat, "/model nobody:x")
    chat.expect("is not known")
    say_to(chat, "/model lmstudio:x")
    chat.expect("model: lmstudio:x")
    say_to(chat, "/retry")
    chat.expect("nothing to retry")
    say_to(chat, "/export")
    chat.expect("written to")
    say_to(chat, "/fork")
    chat.expect("forked mine as session_")
    say_to(chat, "/sessions")
    chat.expect("Our talk")
    say_to(chat, "/new")
    chat.expect("new session")
    say_to(chat, "/quit")
    chat.expect(pexpect.EOF)
    chat.close()
    assert chat.exitstatus == 0
    assert "Hello there" in (tmp_path / "home" / "sessions" / "mine.md").read_text()


def test_what_is_remembered_inside_a_conversation(terminal):
    chat = terminal()
    say_to(chat, "/memory dog")
    chat.expect("nothing like that is remembered")
    say_to(chat, "/remember My dog is called Rex")
    chat.expect("remembered as #1")
    say_to(chat, "/remember My dog is called Max")
    chat.expect("not written: it is similar to")
    chat.expect("/remember #1 My dog is called Max' replaces it")
    say_to(chat, "/remember #1 My dog is called Max")
    chat.expect("remembered as #2, in place of #1")
    say_to(chat, "/remember my password is hunter22")
    chat.expect("it holds a secret")
    say_to(chat, "what is my dog called?")
    chat.expect('recalled #2 "My dog is called Max" \\(you, ')
    chat.expect("1 step")
    say_to(chat, "/memory dog")
    chat.expect("#2  fact  you")
    say_to(chat, "/forget 77")
    chat.expect("No memory #77")
    say_to(chat, "/forget #2")
    chat.expect("forgot #1")
    chat.expect("forgot #2")
    chat.expect("lra memory undo forget_")
    assert leave(chat) == 0


def test_forgetting_asks_the_person(environment):
    def lra(*arguments):
        return pexpect.spawn(
            sys.executable, [*PROGRAM, *arguments], env=environment, encoding="utf-8", timeout=20
        )

    def end(child):
        child.expect(pexpect.EOF)
        child.close()
        return child.exitstatus

    assert end(lra("memory", "add", "My dog is called Rex")) == 0
    for answer, outcome in (("n", "Nothing was forgotten"), ("y", "Forgot 1 memory")):
        child = lra("memory", "forget", "--query", "dog")
        child.expect("My dog is called Rex")
        child.expect("Forget 1 memory for now; it can be undone for 30 days\\?")
        child.sendline(answer)
        child.expect(outcome)
        assert end(child) == 0


def test_yes_allows_everything(terminal):
    chat = terminal("--yes")
    say_to(chat, "plan")
    chat.expect("allowed")
    chat.expect("So be it")


def test_the_demo_asks_the_person(environment):
    demo = pexpect.spawn(
        sys.executable, [*PROGRAM, "demo"], env=environment, encoding="utf-8", timeout=20
    )
    demo.expect("SCRIPTED")
    demo.expect("Allow update_task_status")
    demo.send("no\r")
    demo.expect("You said no")
    demo.expect(pexpect.EOF)
    demo.close()
    assert demo.exitstatus == 0
