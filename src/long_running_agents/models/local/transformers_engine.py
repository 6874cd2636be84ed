"""Hugging Face Transformers as an engine, for weights that are not GGUF."""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import CorruptData
from long_running_agents.models.local.engine import (
    ContextExceeded,
    Finished,
    Json,
    Piece,
    Prompt,
    PromptRefused,
    Said,
    Words,
)
from long_running_agents.models.local.resident import IDLE_AFTER, ResidentEngine
from long_running_agents.models.local.worker import Hear

_LONGEST_ANSWER = 2048
_BROKEN = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What the libraries made of a folder. They have no types that a strict checker could use."""

    torch: Any
    tokenizer: Any
    model: Any


class TransformersEngine(ResidentEngine[_Loaded]):
    """Runs the weights in a folder, as ``save_pretrained`` writes them.

    Nothing is downloaded, no code from the folder is run, and only safetensors are read.

    Args:
        path: The folder.
        name: What to call the model; the folder's name if unset.
        context: The most tokens a prompt and its answer may have together; unset means as many as
            the model was made for, but not more than 8192.
        threads: How many threads compute; unset leaves it to torch.
        idle_after: Seconds without a prompt after which the memory is let go of; None means never.
        clock: Measures them.
    """

    extra = "transformers"
    packages = ("torch", "transformers", "xgrammar")

    def __init__(
        self,
        path: Path,
        *,
        name: str = "",
        context: int | None = None,
        threads: int | None = None,
        idle_after: float | None = IDLE_AFTER,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            path,
            name=name or path.name,
            context=context or _made_for(path),
            idle_after=idle_after,
            clock=clock,
        )
        self._threads = threads

    @override
    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """Words as they are made, then how it ended. Closing the generator stops the work."""

        def work(hear: Hear[Piece]) -> None:
            self._generate(self._weights(), prompt, hear)

        async with aclosing(self._worker.stream(work)) as pieces:
            async for piece in pieces:
                yield piece

    @override
    async def count(self, messages: Sequence[Said]) -> int:
        """How many tokens a conversation has."""
        return await self._worker.do(lambda: len(_tokens(self._weights(), messages)))

    @override
    def _load(self) -> _Loaded:
        torch, library = self.library("torch"), self.library("transformers")
        if self._threads:
            torch.set_num_threads(self._threads)
        safe = {"local_files_only": True, "trust_remote_code": False}
        try:
            tokenizer = library.AutoTokenizer.from_pretrained(str(self._path), **safe)
            model = library.AutoModelForCausalLM.from_pretrained(
                str(self._path), use_safetensors=True, **safe
            )
        except (OSError, ValueError) as error:
            raise CorruptData(
                f"{self._path.name} cannot be loaded: {error}.",
                hint="Give a folder that save_pretrained has written, with safetensors.",
            ) from error
        return _Loaded(torch, tokenizer, model.eval())

    def _generate(self, loaded: _Loaded, prompt: Prompt, hear: Hear[Piece]) -> None:
        tokens = _tokens(loaded, prompt.messages)
        room = self._context - len(tokens)
        if room <= 0:
            raise ContextExceeded(len(tokens), self._context)
        most = min(prompt.sampling.max_tokens or _LONGEST_ANSWER, room)
        telling = _Telling(loaded.tokenizer, prompt.sampling.stop, hear)
        chosen = _choices(loaded, prompt, telling)
        ids = loaded.torch.tensor([tokens])
        with loaded.torch.inference_mode():
            loaded.model.generate(
                ids,
                attention_mask=loaded.torch.ones_like(ids),
                max_new_tokens=most,
                streamer=telling,
                **chosen,
            )
        telling.finish(len(tokens), most)


def _choices(loaded: _Loaded, prompt: Prompt, telling: "_Telling") -> Json:
    sampling = prompt.sampling
    if sampling.seed is not None:
        loaded.torch.manual_seed(sampling.seed)
    chosen: Json = {"stopping_criteria": [_leaving(loaded.torch, telling)]}
    if sampling.temperature:
        chosen |= {"do_sample": True, "temperature": sampling.temperature}
        chosen |= {} if sampling.top_p is None else {"top_p": sampling.top_p}
    else:
        chosen["do_sample"] = False
    if prompt.schema is not None:
        chosen["logits_processor"] = [_grammar(loaded, prompt.schema)]
    padding = loaded.tokenizer.pad_token_id
    return {**chosen, "pad_token_id": loaded.tokenizer.eos_token_id if padding is None else padding}


def _leaving(torch: Any, telling: "_Telling") -> Callable[..., Any]:
    def stop(ids: Any, scores: Any, **_: object) -> Any:
        del scores
        return torch.full((ids.shape[0],), telling.over, dtype=torch.bool)

    return stop


def _grammar(loaded: _Loaded, schema: Json) -> Any:
    library = TransformersEngine.library
    xgrammar, hugging_face = library("xgrammar"), library("xgrammar.contrib.hf")
    known = xgrammar.TokenizerInfo.from_huggingface(
        loaded.tokenizer, vocab_size=loaded.model.config.vocab_size
    )
    try:
        compiled = xgrammar.GrammarCompiler(known).compile_json_schema(
            json.dumps(schema), any_whitespace=False
        )
    except RuntimeError as error:
        raise PromptRefused(f"The schema cannot be followed: {error}") from error
    return hugging_face.LogitsProcessor(compiled)


class _Telling:
    """Hears tokens from ``generate`` and tells them as words."""

    def __init__(self, tokenizer: Any, stops: Sequence[str], hear: Hear[Piece]) -> None:
        self._tokenizer = tokenizer
        self._stops = stops
        self._hear = hear
        self._tokens: list[int] = []
        self._told = ""
        self._prompt_seen = False
        self.over = False

    def put(self, value: Any) -> None:
        """Take in what ``generate`` gives: the prompt first, then one token at a time."""
        if not self._prompt_seen:
            self._prompt_seen = True
            return
        self._tokens += [int(token) for token in value.flatten()]
        self._tell(last=False)

    def end(self) -> None:
        """``generate`` has come to its end."""
        self._tell(last=True)

    def finish(self, prompt_tokens: int, most: int) -> None:
        """Say how it ended."""
        cut = len(self._tokens) >= most and self._tokens[-1] != self._tokenizer.eos_token_id
        ended = Finished(
            reason="length" if cut and not self.over else "stop",
            prompt_tokens=prompt_tokens,
            completion_tokens=len(self._tokens),
        )
        self._hear(ended)

    def _tell(self, *, last: bool) -> None:
        if self.over:
            return
        text = str(self._tokenizer.decode(self._tokens, skip_special_tokens=True))
        for stop in self._stops:
            if stop in text:
                text, self.over = text.partition(stop)[0], True
        whole = text if last or self.over else self._certain(text)
        if len(whole) > len(self._told):
            left = self._hear(Words(whole[len(self._told) :]))
            self._told = whole
            self.over = self.over or left

    def _certain(self, text: str) -> str:
        # A character whose bytes are not all there yet looks broken, and may not be; and what
        # could become a stop must not be told before it is known.
        text = text.rstrip(_BROKEN)
        begun = max((_overlap(text, stop) for stop in self._stops), default=0)
        return text[: len(text) - begun]


def _overlap(text: str, stop: str) -> int:
    lengths = range(min(len(text), len(stop) - 1), 0, -1)
    return next((length for length in lengths if text.endswith(stop[:length])), 0)


def _tokens(loaded: _Loaded, messages: Sequence[Said]) -> list[int]:
    told = [{"role": message.role, "content": message.text} for message in messages]
    try:
        text = loaded.tokenizer.apply_chat_template(
            told, tokenize=False, add_generation_prompt=True
        )
    except (ValueError, TypeError) as error:
        raise PromptRefused(f"The chat template cannot be used: {error}") from error
    return [int(token) for token in loaded.tokenizer.encode(text, add_special_tokens=False)]


def _made_for(path: Path) -> int:
    try:
        config: Json = json.loads((path / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # The folder is missing or broken, which loading it will say.
        config = {}
    return min(int(config.get("max_position_embeddings") or 8192), 8192)
