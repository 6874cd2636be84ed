"""Answers a chat request with an engine: first the choice of a tool, then words if it is none."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from uuid import uuid4

from long_running_agents.models.local import envelope
from long_running_agents.models.local.engine import (
    Finished,
    Piece,
    Prompt,
    Sampling,
    TextEngine,
    Words,
)
from long_running_agents.models.local.request import Call, ChatRequest

LONGEST_ANSWER = 2048
"""Tokens of an answer whose length nobody has bounded: a small model may never end by itself."""

_TEMPERATURE = 0.2


async def answer(engine: TextEngine, request: ChatRequest) -> AsyncGenerator[Piece | Call, None]:
    """Words or a call, then how it ended. Closing the generator stops the work.

    Raises:
        ContextExceeded: The conversation does not fit.
        PromptRefused: The engine cannot use it.
    """
    if not request.tools or request.choice == "none":
        async with aclosing(_talk(engine, request)) as talk:
            async for piece in talk:
                yield piece
        return
    text, spent = await _choose(engine, request)
    match envelope.read(text, request.tools):
        case envelope.Chosen() as chosen if not _settled(chosen, request):
            yield envelope.as_call(chosen, f"call_{uuid4().hex[:24]}")
            yield replace(spent, reason="tool_calls")
        case envelope.Chosen() | envelope.Answer():
            async with aclosing(_talk(engine, request)) as talk:
                async for piece in talk:
                    yield _together(spent, piece) if isinstance(piece, Finished) else piece
        case envelope.Unreadable():
            # Cut off by the bound on tokens. Half a call is no call.
            yield replace(spent, reason="length")


def arguments_text(call: Call) -> str:
    """The arguments of a call as JSON text."""
    return json.dumps(call.arguments, ensure_ascii=False)


def _settled(chosen: envelope.Chosen, request: ChatRequest) -> bool:
    # A small model that has its result tends to ask for it again, for ever.
    return request.choice == "auto" and envelope.repeats(chosen, request.messages)


async def _choose(engine: TextEngine, request: ChatRequest) -> tuple[str, Finished]:
    prompt = Prompt(
        messages=envelope.choosing(request),
        sampling=Sampling(
            max_tokens=request.sampling.max_tokens or LONGEST_ANSWER,
            # A choice is not the place for imagination.
            temperature=0.0,
            seed=request.sampling.seed,
        ),
        schema=envelope.envelope_schema(request),
    )
    words: list[str] = []
    ended = Finished(reason="length", prompt_tokens=0, completion_tokens=0)
    async with aclosing(engine.stream(prompt)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Words):
                words.append(piece.text)
            else:
                ended = piece
    return "".join(words), ended


async def _talk(engine: TextEngine, request: ChatRequest) -> AsyncGenerator[Piece, None]:
    chosen = request.sampling
    sampling = replace(
        chosen,
        max_tokens=chosen.max_tokens or LONGEST_ANSWER,
        temperature=_TEMPERATURE if chosen.temperature is None else chosen.temperature,
    )
    prompt = Prompt(messages=envelope.talking(request), sampling=sampling, schema=request.schema)
    async with aclosing(engine.stream(prompt)) as pieces:
        async for piece in pieces:
            yield piece


def _together(first: Finished, second: Finished) -> Finished:
    # One prompt in two dresses: whoever sent it wants to know how much of the window it takes.
    longer = max(first, second, key=lambda ended: ended.prompt_tokens)
    return Finished(
        reason=second.reason,
        prompt_tokens=longer.prompt_tokens,
        completion_tokens=first.completion_tokens + second.completion_tokens,
        cached_tokens=longer.cached_tokens,
    )
