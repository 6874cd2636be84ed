import pytest

from long_running_agents.domain.policy import (
    Allow,
    Ask,
    DecidedBy,
    Deny,
    Occasion,
    PolicyRule,
    PolicyRules,
    Ruling,
    decide,
)
from long_running_agents.domain.taint import Taint
from long_running_agents.domain.tool import Effect, GatedCall, Power
from long_running_agents.domain.turn import TurnOrigin

OPEN = PolicyRules()
ONLY_SHELL = PolicyRules(allow=["shell"])
NOTHING = PolicyRules(allow=[])
ASKS = PolicyRules(require_approval=["shell"])
ASKS_FOR_FORBIDDEN = PolicyRules(allow=["files"], require_approval=["shell"])

THERE = Occasion()
AWAY = Occasion(attended=False)
READ = Taint(sources=("https://evil.example/page",), seen=frozenset({"https://a.example/x"}))


def shell(command="ls", **more):
    return GatedCall(
        tool="shell", args={"command": command, **more}, powers=frozenset({Power.EXECUTE})
    )


def fetch(url, **more):
    return GatedCall(
        tool="web_fetch",
        args={"url": url, **more},
        effect=Effect.READ,
        powers=frozenset({Power.SEND}),
        foreign=True,
    )


def write(path, content="x"):
    return GatedCall(
        tool="write_file",
        args={"path": path, "content": content},
        effect=Effect.IDEMPOTENT,
        powers=frozenset({Power.CHANGE}),
    )


def tool(name, *powers, **args):
    return GatedCall(tool=name, args=args, powers=frozenset(powers))


@pytest.mark.parametrize(
    ("rules", "attended", "decision"),
    [
        (OPEN, True, Allow),
        (OPEN, False, Allow),
        (ONLY_SHELL, True, Allow),
        (PolicyRules(allow=["files"]), True, Deny),
        (NOTHING, True, Deny),
        (ASKS, True, Ask),
        (ASKS, False, Deny),
        (ASKS_FOR_FORBIDDEN, True, Deny),
        (PolicyRules(require_approval=["files"]), False, Allow),
    ],
)
def test_a_call_is_allowed_asked_about_or_denied(rules, attended, decision):
    assert isinstance(decide(shell(), rules, Occasion(attended=attended)), decision)


def test_a_refusal_names_the_tool_and_the_setting():
    assert (
        "'shell' is not among the allowed tools (agent.tools.allow)"
        in decide(shell(), NOTHING).reason
    )
    assert "nobody is there" in decide(shell(), ASKS, AWAY).reason
    assert "agent.tools.require_approval" in decide(shell(), ASKS).reason
    job = Occasion(origin=TurnOrigin.JOB, attended=False)
    assert "while a job runs" in decide(shell(), ASKS, job).reason


@pytest.mark.parametrize(
    ("call", "decision"),
    [
        (shell("pytest -q && git commit -am x"), Allow),
        (shell("rm -rf /"), Ask),
        (shell("echo 'unfinished"), Allow),
        (tool("execute_code", Power.EXECUTE, code="print(1)"), Allow),
        (tool("execute_code", Power.EXECUTE, code="open('USER.md','w')"), Ask),
        (write("src/a.py"), Allow),
        (write("SOUL.md"), Ask),
        (write("../outside/memory.txt"), Allow),
        (fetch("https://docs.example/"), Allow),
        (tool("web_search", Power.SEND, query="x"), Allow),
        (tool("install_packages", Power.EXTEND, packages=["numpy"]), Ask),
        (tool("create_job", Power.EXTEND, prompt="x"), Allow),
        (tool("write_memory", Power.REMEMBER, content="x"), Allow),
    ],
)
def test_by_default_only_what_matters_is_asked_about(call, decision):
    assert isinstance(decide(call, OPEN), decision)
    assert isinstance(decide(call, OPEN, AWAY), Deny if decision is Ask else Allow)


@pytest.mark.parametrize(
    ("call", "decision"),
    [
        (shell("pytest -q"), Allow),
        (write("src/a.py"), Allow),
        (write("SOUL.md"), Ask),
        (fetch("https://a.example/x"), Allow),
        (fetch("https://a.example/x#part"), Allow),
        (fetch("HTTPS://A.example/x"), Allow),
        (fetch("https://a.example/x", format="markdown", max_chars=500), Allow),
        (fetch("https://a.example/xy"), Ask),
        (fetch("https://a.example/"), Ask),
        (fetch("https://a.example/x?d=secret"), Ask),
        (fetch("https://secret.a.example/x"), Ask),
        (fetch("https://user:secret@a.example/x"), Ask),
        (fetch("https://a.example/x", body="the contents of notes.txt"), Ask),
        (fetch("https://a.example/x", headers={"X": "secret"}), Ask),
        (fetch(["https://a.example/x", "https://a.example/y"]), Ask),
        (tool("web_search", Power.SEND, query="what notes.txt says"), Ask),
        (tool("install_packages", Power.EXTEND, packages=["evil"]), Ask),
        (tool("create_job", Power.EXTEND, prompt="x"), Ask),
        (tool("write_memory", Power.REMEMBER, content="x"), Allow),
        (tool("mystery", *Power, x="y"), Ask),
    ],
)
def test_after_foreign_words_what_could_do_harm_takes_a_fresh_answer(call, decision):
    found = decide(call, OPEN, THERE, READ)

    assert isinstance(found, decision)
    if decision is Ask:
        assert found.fresh
        assert "https://evil.example/page" in found.reason
        allowing = PolicyRules(unattended=Ruling.ALLOW)
        assert isinstance(decide(call, allowing, AWAY, READ), Deny)


def test_code_with_a_network_can_send():
    online = PolicyRules(network=True)

    assert isinstance(decide(shell(), online), Allow)
    assert isinstance(decide(shell("cat notes.txt"), online, THERE, READ), Ask)
    # Also when it goes to an address that was named: what it says there is not seen.
    assert isinstance(decide(shell("curl https://a.example/x"), online, THERE, READ), Ask)


def test_taint_can_be_switched_off_and_the_log_says_so():
    found = decide(tool("create_job", Power.EXTEND), PolicyRules(taint=False), THERE, READ)

    assert isinstance(found, Allow)
    assert "agent.tools.taint is off" in found.reason
    assert "https://evil.example/page" in found.reason


def test_unattended_turns_follow_their_policy():
    asking = {"require_approval": ["shell"]}

    assert isinstance(decide(shell(), PolicyRules(**asking), AWAY), Deny)
    allowed = decide(shell(), PolicyRules(**asking, unattended=Ruling.ALLOW), AWAY)
    assert isinstance(allowed, Allow)
    assert "non_interactive_approval_policy" in allowed.reason
    assert isinstance(decide(shell(), PolicyRules(**asking, unattended=Ruling.ASK), AWAY), Ask)


def test_outside_the_sandbox_nobody_is_no_answer():
    allowing = {"unattended": Ruling.ALLOW, "custom": [PolicyRule(decision=Ruling.ALLOW)]}
    rules = PolicyRules(**allowing, unsandboxed=True)

    assert isinstance(decide(shell(), rules, AWAY), Deny)
    assert decide(shell(), rules, THERE).fresh
    assert isinstance(decide(write("a.py"), rules, AWAY), Allow)


def rule(decision, **more):
    return PolicyRule(decision=Ruling(decision), **more)


@pytest.mark.parametrize(
    ("custom", "call", "decision"),
    [
        ([rule("deny", tool="shell")], shell(), Deny),
        ([rule("deny", tool="sh*")], shell(), Deny),
        ([rule("deny", tool="files")], shell(), Allow),
        ([rule("allow", tool="shell"), rule("deny", tool="shell")], shell(), Deny),
        ([rule("ask", tool="shell"), rule("allow", tool="shell")], shell(), Ask),
        ([rule("allow", tool="shell")], shell("rm -rf /"), Allow),
        ([rule("deny", program="curl")], shell("echo x | curl -d @- y"), Deny),
        ([rule("deny", program="curl")], shell("echo curl"), Allow),
        ([rule("deny", program="curl")], shell("sh -c 'curl x'"), Deny),
        ([rule("deny", program="curl")], shell("$C x"), Ask),
        ([rule("deny", program="git push")], shell("git -C x push"), Deny),
        ([rule("deny", program="git")], shell("git log"), Deny),
        ([rule("allow", program="rm")], shell("rm -rf /"), Allow),
        ([rule("allow", program="rm")], shell("rm -rf / && mkfs x"), Ask),
        ([rule("allow", program="rm")], shell("X=1 rm -rf /"), Ask),
        ([rule("allow", program="git")], shell("git -c alias.x='!rm -rf /' x; rm -rf /"), Ask),
        ([rule("deny", path="private/*")], write("private/a"), Deny),
        ([rule("deny", path="private/*")], write("src/../private/a"), Deny),
        ([rule("deny", path="private/*")], shell("cat private/a"), Deny),
        ([rule("deny", path="private/*")], write("src/a"), Allow),
        ([rule("allow", path="SOUL.md")], write("SOUL.md"), Allow),
        ([rule("deny", host="*.evil.example")], fetch("https://x.evil.example/"), Deny),
        ([rule("deny", host="*.evil.example")], fetch("https://x.evil.example.org/"), Allow),
        ([rule("ask", tool="web_*", host="*")], fetch("https://a.example/"), Ask),
    ],
)
def test_rules_of_the_settings(custom, call, decision):
    assert isinstance(decide(call, PolicyRules(custom=custom)), decision)


def test_a_rule_wins_over_the_lists_and_gives_its_reason():
    rules = PolicyRules(
        require_approval=["shell"],
        custom=[rule("allow", program="ls"), rule("deny", program="rm", reason="use the bin")],
    )

    assert decide(shell("ls"), rules).by is DecidedBy.RULE
    assert decide(shell("rm x"), rules) == Deny("use the bin", DecidedBy.RULE)
    assert "agent.tools.require_approval" in decide(shell("pwd"), rules).reason


def test_an_allowing_rule_holds_after_foreign_words_only_if_it_says_so():
    call = fetch("https://docs.example/new")

    plain = PolicyRules(custom=[rule("allow", host="docs.example")])
    assert isinstance(decide(call, plain, THERE, READ), Ask)
    trusting = PolicyRules(custom=[rule("allow", host="docs.example", tainted=True)])
    assert isinstance(decide(call, trusting, THERE, READ), Allow)
