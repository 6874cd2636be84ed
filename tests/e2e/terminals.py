"""A person's side of a conversation in a terminal."""

import contextlib
import json
import urllib.request

import pexpect

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
