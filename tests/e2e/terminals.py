"""A person's side of a conversation in a terminal."""

import asyncio
import contextlib
import json
import urllib.request

import pexpect

from long_running_agents.server.server_file import announced

PROMPT_IS_UP = "\x1b[?2004h"
"""The prompt asks the terminal to mark pastes; from then on it reads."""


def say_to(child, text):
    """Write a line."""
    child.send(f"{text}\r")


def leave(child):
    """Press Ctrl-D, and tell the exit code.

    A terminal forgets a Ctrl-D that comes before the prompt does, so at each prompt that comes up
    it is pressed again.
    """
    child.send("\x04")
    while child.expect_exact([PROMPT_IS_UP, pexpect.EOF]) == 0:
        with contextlib.suppress(OSError):
            child.send("\x04")
    child.close()
    return child.exitstatus


def told(process):
    """What a command has said once it has ended: exit code, stdout, stderr."""
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def until_asked(environment, text):
    """Wait until the model was asked something."""
    url = environment["AGENT_MODEL_URL"].removesuffix("/v1")
    while True:
        with urllib.request.urlopen(f"{url}/requests") as answer:
            if text in answer.read().decode():
                return


def statuses(lra, session):
    """How the turns of a session are."""
    shown = json.loads(lra("sessions", "show", session, "--json")[1])
    return [turn["status"] for turn in shown["turns"]]


class EndingTerminals:
    """Terminals that have a home open, one after the other; each ends after so many answers."""

    def __init__(self, home, answers):
        self._home = home
        self._answers = list(answers)
        self._open = contextlib.ExitStack()

    async def __aenter__(self):
        self._home.create()
        await self._begin()
        return self

    async def __aexit__(self, *_):
        self._open.close()

    async def _begin(self):
        """Have the next one there, or nobody after the last."""
        if self._answers:
            socket = str(self._home.path / f"lra-{len(self._answers)}.sock")
            self._open.enter_context(self._home.owned())
            server = await asyncio.start_unix_server(self._hear, socket)
            self._open.callback(server.close)
            self._open.enter_context(announced(self._home, "http://localhost", "", socket))

    async def _hear(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        if self._answers[:1] == [0]:
            # The next one is there before it can be noticed that this one is not.
            self._open.close()
            self._answers.pop(0)
            await self._begin()
        elif self._answers:
            self._answers[0] -= 1
            writer.write(_answer(head.split()[1]))
        writer.close()


def _answer(path):
    known = path == b"/api/status"
    told = {"version": "1", "agent": "lra", "model": "scripted"}
    told = told if known else {"code": "not_found", "message": "Nothing yet.", "hint": ""}
    body = json.dumps(told).encode()
    head = f"HTTP/1.1 {200 if known else 404} .\r\ncontent-type: application/json\r\n"
    head += "connection: close\r\n"
    return head.encode() + f"content-length: {len(body)}\r\n\r\n".encode() + body
