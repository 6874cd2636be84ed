"""An engine that says what it was told to say."""

import asyncio

from long_running_agents.models.local.engine import ContextExceeded, Finished, TextPiece


class ScriptedEngine:
    """Gives each prompt the next text, word by word."""

    name = "scripted"
    context = 100

    def __init__(self, *texts, gate=None):
        self.prompts = []
        self.stopped = asyncio.Event()
        self.unloaded = False
        self._texts = list(texts)
        self._gate = gate
        self.asked = asyncio.Event()

    async def stream(self, prompt):
        self.prompts.append(prompt)
        self.asked.set()
        if sum(len(message.text.split()) for message in prompt.messages) > 1000:
            raise ContextExceeded(1001, self.context)
        if self._gate is not None:
            try:
                await self._gate.wait()
            except asyncio.CancelledError:
                self.stopped.set()
                raise
        text = self._texts.pop(0)
        if isinstance(text, Exception):
            raise text
        words = text.split(" ")
        for place, word in enumerate(words):
            yield TextPiece(word if place == 0 else f" {word}")
        yield Finished(reason="stop", prompt_tokens=10, completion_tokens=len(words))

    async def unload(self):
        self.unloaded = True
