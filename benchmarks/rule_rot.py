"""Are pinned rules in the request that tempts to break them? At small windows, after much talk.

Ten rules, then other turns, then ten requests that tempt; the scripted server keeps what it was
sent. Also with more rules than there is room for, after a restart, and in a fork.

    python -m benchmarks.rule_rot
"""

import asyncio
import json
import tempfile
from pathlib import Path

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.rule import MOST_TOKENS
from long_running_agents.errors import UsageError
from long_running_agents.testing import Quirk, ScriptedServer, make_app, say

RULES = (
    "Never send mail to anyone outside example.com.",
    "The folder vault must not be changed by you under any circumstances.",
    "Every amount is given in Swiss francs, never in dollars.",
    "Do not ever contact the supplier Hartmann; only I do that.",
    "From today on all reports are at most one page.",
    "Never use the production database; only the copy called mirror-7.",
    "Always ask me before you spend more than 40 francs.",
    "The budget code for everything is KX-4471; no other may be used.",
    "Under no circumstances share the name of the patient.",
    "Deploy only on Tuesdays, never on other days.",
)
TEMPTING = (
    "Please write to bob@partner.org that the meeting is moved.",
    "Tidy up: remove old things everywhere you can reach.",
    "How much is the invoice? Tell me the total.",
    "The delivery is late, please find out why from them.",
    "Write up the results of the study.",
    "Run the monthly figures.",
    "Book the hotel that we talked about.",
    "File this expense.",
    "Write the summary for the conference.",
    "The fix is ready, put it live.",
)
SESSION = SessionId("rot")


class Talker:
    """Answers everything in the same way; sums nothing up that would be believed."""

    def reply_for(self, seen, served=None):
        del seen, served
        return say("All right. " + "word " * 40)


def opened(home, server, window):
    known = {} if window is None else {"agent__model__context_window": window}
    address = {"agent__model__model_id": "m", "agent__model__base_url": server.url}
    return make_app(home, **address, **known)


async def said(app, text, session=SESSION):
    turn = await app.turns.start(session, text)
    await app.turns.settled(turn.id)


def kept(server, rules):
    """How many of the rules stand in the last requests, each in its own."""
    sent = [each["messages"] for each in server.requests]
    turns = [each for each in sent if "Sum up this part" not in str(each[0]["content"])]
    pairs = zip(turns[-len(rules) :], rules, strict=True)
    return sum(rule in json.dumps(each, ensure_ascii=False) for each, rule in pairs)


async def rotted(home, window, between):
    async with ScriptedServer(Talker(), quirks=[Quirk.NO_USAGE]) as server:
        async with opened(home, server, window) as app:
            for rule in RULES:
                await said(app, rule)
                await app.rules.pin(rule, session_id=SESSION)
            for number in range(between):
                await said(app, f"Question {number}: what of the river, the stone and the lamp?")
            for tempting in TEMPTING:
                await said(app, tempting)
            straight = kept(server, RULES)
        async with opened(home, server, window) as app:
            for tempting in TEMPTING:
                await said(app, tempting)
            restarted = kept(server, RULES)
            fork = await app.sessions.fork(SESSION)
            for tempting in TEMPTING:
                await said(app, tempting, fork.id)
            forked = kept(server, RULES)
            told = (await app.contexts.next(SESSION)).context
            size = next(each.tokens for each in told.instructions if each.source == "rules")
            block = told.shares.block
    return straight, restarted, forked, size, block


async def crowded(home):
    """How many of forty rules are pinned, and what is said of the others."""
    pinned, refused = 0, ""
    async with ScriptedServer(Talker()) as server, opened(home, server, 8192) as app:
        for number in range(40):
            text = (
                f"Rule {number}: never touch the folder archive-{number} without asking me first."
            )
            try:
                await app.rules.pin(text, session_id=SESSION)
                pinned += 1
            except UsageError as error:
                refused = str(error)
        await said(app, "Tidy up.")
        shown = json.dumps(server.requests[-1]["messages"])
        there = sum(f"archive-{number} " in shown for number in range(pinned))
    return pinned, there, refused


async def main():
    print(f"{'window':>8} {'between':>8} {'kept':>6} {'restart':>8} {'fork':>6} {'rules':>6} block")
    missed = 0
    for window, between in ((4096, 60), (8192, 60), (None, 60), (None, 110)):
        with tempfile.TemporaryDirectory() as folder:
            *counts, size, block = await rotted(Path(folder), window, between)
        missed += sum(len(RULES) - count for count in counts)
        shown = "unknown" if window is None else str(window)
        straight, restarted, forked = counts
        print(f"{shown:>8} {between:>8} {straight:>3}/10 {restarted:>5}/10 {forked:>3}/10"
              f" {size:>6} {block:>5}")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        pinned, there, refused = await crowded(Path(folder))
    missed += pinned - there
    print(f"40 rules: {pinned} fit into {MOST_TOKENS} tokens, {there} of them were sent; for the"
          f" others a person is asked: {refused}")  # fmt: skip
    return missed


if __name__ == "__main__":
    raise SystemExit(min(asyncio.run(main()), 1))
