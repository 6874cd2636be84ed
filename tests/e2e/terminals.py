"""A person's side of a conversation in a terminal."""

import contextlib

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
