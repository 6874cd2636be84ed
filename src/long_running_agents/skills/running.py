"""Running a function once, in a sandbox: the same way in a trial and in earnest."""

from math import inf
from typing import Protocol

from long_running_agents.domain.skill import Interface, Json, Limits
from long_running_agents.sandbox.port import Sandbox
from long_running_agents.sandbox.result import ExecResult

_MEGABYTE = 1 << 20


class Runnable(Protocol):
    """A function that can be run: a version, or what may become one."""

    @property
    def source(self) -> str:
        """The module that it is in."""
        ...

    @property
    def interface(self) -> Interface:
        """What it tells of itself."""
        ...

    @property
    def limits(self) -> Limits:
        """What a call may use."""
        ...


async def run(
    sandbox: Sandbox, function: Runnable, args: Json, context: Json, *, at_most: float = inf
) -> ExecResult:
    """Call a function once; a failure of its code is part of the result.

    Args:
        sandbox: Where.
        function: What is called.
        args: What it is given.
        context: What it is given beside that, if it takes a context.
        at_most: Seconds, where its own limit would be too long.
    """
    interface, limits = function.interface, function.limits
    given = {**args, interface.context: context} if interface.context else args
    return await sandbox.call(
        function.source,
        interface.function,
        given,
        min(limits.timeout, at_most),
        memory=limits.memory * _MEGABYTE,
    )
