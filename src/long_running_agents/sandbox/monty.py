"""Pure functions in Monty, an interpreter of a part of Python that knows no machine at all.

It is for calls of functions that only compute: a fresh one costs less than a millisecond. What its
parser does not accept goes to a sandbox. Nothing is lost by trying, since nothing has an effect.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from long_running_agents.errors import NotConfigured
from long_running_agents.sandbox.answers import clean
from long_running_agents.sandbox.result import CodeError, ExecResult
from long_running_agents.sandbox.spec import Limits

if TYPE_CHECKING:
    import pydantic_monty

ISOLATION = ("interpreter", "process")
_ARGUMENTS = "arguments_of_the_call"
_BEYOND = ("ImportError", "ModuleNotFoundError", "NotImplementedError")
_LEAD = 1.0
"""Seconds after its own limit by which the interpreter has answered, or its process is given up."""


class Monty:
    """Calls pure functions."""

    def __init__(self, pool: "pydantic_monty.AsyncMonty", limits: Limits) -> None:
        self._pool = pool
        self._limits = limits

    async def call(
        self, source: str, function: str, kwargs: Mapping[str, Any], timeout: float | None = None
    ) -> ExecResult | None:
        """Define a function and call it, with JSON in and JSON out; None if it takes a sandbox."""
        import pydantic_monty  # noqa: PLC0415 - an extra

        if not function.isidentifier():
            return None
        seconds = self._limits.timeout if timeout is None else timeout
        printed = pydantic_monty.CollectString()
        try:
            async with asyncio.timeout(seconds + _LEAD):
                value = await self._run(source, function, dict(kwargs), seconds, printed)
        except (pydantic_monty.MontySyntaxError, pydantic_monty.MontyConversionError):
            return None
        except (pydantic_monty.MontyError, TimeoutError) as error:
            name, _, message = (str(error) or "TimeoutError: it did not end").partition(": ")
            if name in _BEYOND:
                return None
            return self._result(printed.output, error=CodeError(name=name, message=message))
        return self._result(printed.output, value=value)

    async def _run(
        self,
        source: str,
        function: str,
        arguments: dict[str, Any],
        seconds: float,
        printed: "pydantic_monty.CollectString",
    ) -> Any:
        limits: pydantic_monty.ResourceLimits = {
            "max_feed_duration_secs": seconds,
            "max_memory": min(self._limits.memory, 256 << 20),
        }
        async with self._pool.checkout(limits=limits) as session:
            await session.feed_run(source, print_callback=printed)
            value = await session.feed_run(
                f"{function}(**{_ARGUMENTS})",
                inputs={_ARGUMENTS: arguments},
                print_callback=printed,
            )
        # As from a sandbox: what comes back is JSON or text.
        return json.loads(json.dumps(value, default=repr), parse_constant=str)

    def _result(
        self, printed: str, *, value: Any = None, error: CodeError | None = None
    ) -> ExecResult:
        kept = self._limits.output_kept
        return ExecResult(
            stdout=printed[:kept],
            truncated=len(printed) > kept,
            value=clean(value),
            error=error,
            isolation=ISOLATION,
        )


@asynccontextmanager
async def opened(limits: Limits | None = None) -> AsyncGenerator[Monty]:
    """A Monty with its workers.

    Raises:
        NotConfigured: The extra is not installed.
    """
    try:
        import pydantic_monty  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise NotConfigured(
            "Monty is not installed.", hint="pip install 'long-running-agents[monty]'"
        ) from error
    async with pydantic_monty.AsyncMonty() as pool:
        yield Monty(pool, limits or Limits())
