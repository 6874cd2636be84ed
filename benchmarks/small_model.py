"""What a small model makes of the real agent: which tool it calls first, and what it remembers.

    python -m benchmarks.small_model [FOLDER] [NAME …] [--works 10]

48 messages, each in a home of its own, with the agent's own instructions and tools. Of each the
tools that were offered are shown as well, since only what is offered can be chosen. The weights are
fetched into the folder if they are not there. With --works it carries out, so many times, a plan of
two tasks that was made by hand: to write a file, and to count its lines by a command.
"""

import argparse
import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import platformdirs
from pydantic_ai.models.wrapper import WrapperModel

from long_running_agents.domain.events import ToolCalled
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import MemoryKind, Query, Viewer
from long_running_agents.models.local.catalog import CATALOG, DEFAULT, pull
from long_running_agents.models.local.model import LocalModel, open_engine
from long_running_agents.testing import make_app

SESSION = SessionId("small")
NONE = frozenset({""})


@dataclass(frozen=True)
class Prompt:
    """Something said, and the tools that answer it; "" is none."""

    said: str
    wanted: frozenset[str]


def prompts(*lines):
    found = []
    for said, wanted in lines:
        found.append(Prompt(said, frozenset(wanted.split()) or NONE))
    return found


EASY = prompts(
    ("Which files are in my workspace?", "list_files"),
    ("List everything in the photos folder.", "list_files"),
    ("Show me the folder invoices.", "list_files"),
    ("Read the file report.txt.", "read_file"),
    ("What does config.yaml say?", "read_file"),
    ("Open README.md for me.", "read_file"),
    ("Write 'buy stamps' into the file errands.txt.", "write_file"),
    ("Save the text hello world as hello.txt.", "write_file"),
    ("Remember that my cat is called Minka.", "write_memory"),
    ("Please remember: I start my new job on Monday.", "write_memory"),
    ("Make a note for later: my shoe size is 43.", "write_memory"),
    ("Don't forget that my mother's birthday is in June.", "write_memory"),
    ("What is my cat called?", "search_memory"),
    ("Do you remember my shoe size?", "search_memory"),
    ("What have I told you about my mother?", "search_memory"),
    ("Look in your memory for my new job.", "search_memory"),
    ("Add a task: call the plumber.", "create_task"),
    ("Create a task to clean the windows.", "create_task"),
    ("Put 'send the invoice' on my to-do list.", "create_task"),
    ("Show my tasks.", "list_tasks"),
    ("What is still on my to-do list?", "list_tasks"),
    ("Use Python to compute 17 times 23.", "execute_code"),
    ("Run Python code that reverses the string 'abc'.", "execute_code"),
    ("Run the command df -h.", "shell"),
    ("Search the web for the news about Mars.", "web_search"),
    ("Fetch https://example.org and tell me what it says.", "web_fetch"),
    ("Hello, how are you?", ""),
    ("Thanks, that is all for today.", ""),
    ("Who wrote Romeo and Juliet?", ""),
    ("Tell me a short joke.", ""),
)

INDIRECT = prompts(
    ("I have lost track of what I saved in the drafts directory.", "list_files search_files"),
    ("Is there anything useful lying around in my workspace?", "list_files search_files"),
    ("I can't recall what I wrote in diary.txt.", "read_file"),
    ("Could you go through minutes.md and sum it up for me?", "read_file"),
    ("For future reference, I am a vegetarian.", "write_memory"),
    ("You should know for next time that I moved to Bergen.", "write_memory"),
    ("When was my mother born again?", "search_memory"),
    ("Which food was I supposed to avoid?", "search_memory"),
    ("Have we ever talked about my knee?", "search_memory get_recent_conversations"),
    ("I must renew my passport by March; don't let me lose sight of it.", "create_task"),
    ("We still have to order paint; put that somewhere I will see it.", "create_task"),
    ("What did I want to get done this week?", "list_tasks search_memory"),
    ("How much is 12.5 percent of 1,840?", "execute_code"),
    ("How many seconds are there in a leap year?", "execute_code"),
    ("I wonder how the match ended last night.", "web_search"),
    ("What does the page at https://example.com/prices list?", "web_fetch"),
    ("How is everything with you today?", ""),
    ("Why is the sky blue?", ""),
)

TALK = ("Hi", "Hi", "How are you?", "What is a fjord?", "Thank you!", "Good night.")
"""One conversation of which nothing is a fact."""


class Watched(WrapperModel):
    """Knows what was offered and called at each request."""

    def __init__(self, model):
        super().__init__(model)
        self.offered = []
        self.called = []

    def request_stream(self, messages, settings, parameters, context=None):
        self.offered.append([tool.name for tool in parameters.function_tools])
        return super().request_stream(messages, settings, parameters, context)


async def first_call(model, said):
    """The tools that are offered for a message, and the first that is called; "" for none."""
    watched = Watched(model)
    with TemporaryDirectory() as home:
        # One short step: what comes after the first choice is not what is asked here.
        short = {"agent__max_loop_iterations": 1, "agent__model__max_tokens": 120}
        async with make_app(Path(home), model=watched, **short) as app:
            turn = await app.turns.start(SESSION, said)
            await app.turns.settled(turn.id)
            events = [recorded.event for recorded in await app.sessions.events(SESSION)]
    calls = [event.tool for event in events if isinstance(event, ToolCalled)]
    return watched.offered[0], calls[0] if calls else ""


async def facts_of(model):
    """What is remembered as a fact of a conversation that holds none, and its answers."""
    with TemporaryDirectory() as home:
        async with make_app(Path(home), model=model, agent__max_loop_iterations=4) as app:
            answers = []
            for said in TALK:
                turn = await app.turns.start(SESSION, said)
                answers.append((await app.turns.settled(turn.id)).answer)
            kept = await app.memories.find(Viewer(), Query(text=" ".join(TALK), limit=50))
    return [
        hit.memory.content for hit in kept.hits if hit.memory.kind is not MemoryKind.CONVERSATION
    ], answers


async def score(model, name, of):
    right = offered_right = most = uninvited = 0
    for prompt in of:
        offered, called = await first_call(model, prompt.said)
        right += called in prompt.wanted
        offered_right += bool(prompt.wanted & {*offered, ""})
        uninvited += "write_memory" in offered and "write_memory" not in prompt.wanted
        most = max(most, len(offered))
        if called not in prompt.wanted:
            print(f"    {prompt.said!r}: {called or 'an answer'} of {', '.join(offered) or 'none'}")
    print(
        f"  {name}: {right}/{len(of)} right; the right tool offered for {offered_right}, at most"
        f" {most} offered, write_memory unasked {uninvited} times",
        flush=True,
    )


PLAN = [
    {
        "title": "Write the file birds.txt",
        "description": "Use write_file: path birds.txt, content heron\\nstork\\ncrane\\n",
        "criterion": {"kind": "file", "path": "birds.txt", "contains": "stork\ncrane"},
    },
    {
        "title": "Count the lines of birds.txt",
        "description": "Use shell with the command: wc -l birds.txt",
        "criterion": {"kind": "call", "tool": "shell", "args": {"command": "wc -l birds.txt"}},
        "depends_on": [1],
    },
]


async def carried_out(model, count):
    """How often a work of two tasks ends with every task proven."""
    complete = 0
    for _ in range(count):
        began = time.monotonic()
        with TemporaryDirectory() as home:
            async with make_app(
                Path(home), model=model, agent__deep_work__max_iterations=30
            ) as app:
                work = await app.works.start("Write down three birds and count them", plan=PLAN)
                await app.works.approve(work.id)
                while turns := await app.turns.unfinished():
                    await app.turns.settled(turns[0].id)
                found = await app.works.get(work.id)
        complete += found.work.phase == "complete"
        told = found.work.pause or found.work.phase
        steps = next(line.spent for line in found.budget if line.resource == "steps")
        seconds = time.monotonic() - began
        print(f"    {told}: {found.summary}, {steps:.0f} steps, {seconds:.0f} s", flush=True)
    print(f"  works: {complete} of {count} complete", flush=True)


async def measured(name, folder, works):
    await pull(CATALOG[name], folder, progress=lambda *_: None)
    engine = open_engine(name, folder)
    model = LocalModel(engine)
    began = time.monotonic()
    print(f"{name}:", flush=True)
    if works:
        await carried_out(model, works)
    else:
        await score(model, "easy", EASY)
        await score(model, "indirect", INDIRECT)
        facts, answers = await facts_of(model)
        print(f"  small talk: {len(facts)} facts remembered: {facts}; answers {answers}")
    print(f"  {time.monotonic() - began:.0f} s")
    await engine.unload()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    usual = Path(platformdirs.user_cache_dir("long-running-agents")) / "bench-models"
    parser.add_argument("folder", type=Path, nargs="?", default=usual)
    parser.add_argument("names", nargs="*", default=[DEFAULT])
    parser.add_argument("--works", type=int, default=0)
    chosen = parser.parse_args()
    for name in chosen.names:
        asyncio.run(measured(name, chosen.folder, chosen.works))


if __name__ == "__main__":
    main()
