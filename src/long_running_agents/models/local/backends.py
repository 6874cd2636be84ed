"""The engines that run weights in this process: llama.cpp for GGUF, Hugging Face's for the rest."""

import json
import os
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from typing_extensions import override

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import CorruptData, NotConfigured
from long_running_agents.models.chat_protocol import Json, table, tables
from long_running_agents.models.local.engine import (
    IDLE_AFTER,
    ContextExceeded,
    Finished,
    Hear,
    LocalPrompt,
    Piece,
    PromptRefused,
    ResidentEngine,
    TextPiece,
)
from long_running_agents.models.text_stream import overlap

_BATCH = 256
"""Tokens of a prompt that are read between two chances to stop."""


class _Server(Protocol):
    """What we use of xllamacpp's server, which has no types of its own."""

    listening_address: str

    def handle_chat_completions(
        self, request: Json, callback: Callable[[Json], bool], /
    ) -> object: ...


class LlamaEngine(ResidentEngine[_Server]):
    """Runs one file of weights, as GGUF.

    Unset, the threads are one for each core but one: llama.cpp's threads wait for each other in a
    busy loop, and one that has to share its core slows all of them.
    """

    extra = "local"
    packages = ("xllamacpp",)

    def __init__(
        self,
        path: Path,
        *,
        name: str = "",
        context: int = 8192,
        threads: int | None = None,
        idle_after: float | None = IDLE_AFTER,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            path, name=name or path.stem, context=context, idle_after=idle_after, clock=clock
        )
        self._threads = threads or max(1, (os.cpu_count() or 1) - 1)
        self._key = secrets.token_urlsafe(24)

    @override
    async def stream(self, prompt: LocalPrompt) -> AsyncGenerator[Piece, None]:
        def work(hear: Hear[Json]) -> None:
            self._weights().handle_chat_completions(self._request(prompt), hear)

        reason = "stop"
        try:
            async with aclosing(self._told(work)) as chunks:
                async for chunk in chunks:
                    if error := table(chunk, "error"):
                        raise _failure(error)
                    choices = tables(chunk, "choices")
                    for choice in choices:
                        reason = str(choice.get("finish_reason") or reason)
                        if text := table(choice, "delta").get("content"):
                            yield TextPiece(str(text))
                    if not choices and (usage := table(chunk, "usage")):
                        yield _finished(reason, usage)
        except (ValueError, RuntimeError) as error:
            # llama.cpp's own words about a template or a schema it cannot use.
            raise PromptRefused(str(error)) from error

    @override
    def _load(self) -> _Server:
        if not self._path.is_file():
            raise NotConfigured(
                f"The weights of {self.name} are not here.",
                hint=f"lra models pull {self.name}",
            )
        library = self.library("xllamacpp")
        try:
            return cast("_Server", library.Server(self._parameters(library)))
        except (RuntimeError, ValueError) as error:
            raise CorruptData(
                f"{self._path.name} cannot be loaded: {error}.",
                hint="Remove it and pull it again.",
            ) from error

    def _parameters(self, library: Any) -> Any:
        chosen = library.CommonParams()
        chosen.model.path = str(self._path)
        chosen.n_ctx = self.context
        chosen.n_parallel = 1
        chosen.n_batch = _BATCH
        chosen.cpuparams.n_threads = self._threads
        chosen.cpuparams_batch.n_threads = self._threads
        chosen.warmup = False
        chosen.verbosity = -1
        chosen.use_jinja = True
        # The library listens on loopback as soon as it is there, and would answer anybody.
        chosen.api_keys = [self._key]
        return chosen

    def _request(self, prompt: LocalPrompt) -> Json:
        request: Json = {
            **asdict(prompt.sampling),
            "stop": list(prompt.sampling.stop),
            "messages": prompt.told(),
            "stream": True,
            "stream_options": {"include_usage": True},
            # Reports between batches are what lets a long prompt be stopped while it is read.
            "return_progress": True,
        }
        if prompt.schema is not None:
            request["grammar"] = self.library("xllamacpp").json_schema_to_grammar(
                _tight(prompt.schema)
            )
        return {name: value for name, value in request.items() if value not in (None, [])}


def _tight(schema: Json) -> str:
    # Small models love to indent, and each blank is a token.
    spacing = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    return json.dumps({**schema, "x-guidance": {**spacing, "lenient": True}})


def _finished(reason: str, usage: Json) -> Finished:
    details = table(usage, "prompt_tokens_details")
    return Finished(
        reason="length" if reason == "length" else "stop",
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
        cached_tokens=int(details.get("cached_tokens") or 0),
    )


def _failure(error: Json) -> Exception:
    if error.get("type") == "exceed_context_size_error":
        return ContextExceeded(int(error["n_prompt_tokens"]), int(error["n_ctx"]))
    return PromptRefused(str(error.get("message") or error))


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

    Nothing is downloaded, no code from the folder is run, and only safetensors are read. Unset, the
    context is what the model was made for, but not more than 8192 tokens.
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
    async def stream(self, prompt: LocalPrompt) -> AsyncGenerator[Piece, None]:
        def work(hear: Hear[Piece]) -> None:
            self._generate(self._weights(), prompt, hear)

        async with aclosing(self._told(work)) as pieces:
            async for piece in pieces:
                yield piece

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

    def _generate(self, loaded: _Loaded, prompt: LocalPrompt, hear: Hear[Piece]) -> None:
        tokens = _tokens(loaded, prompt)
        room = self.context - len(tokens)
        if room <= 0:
            raise ContextExceeded(len(tokens), self.context)
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


def _choices(loaded: _Loaded, prompt: LocalPrompt, telling: "_Telling") -> Json:
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
            left = self._hear(TextPiece(whole[len(self._told) :]))
            self._told = whole
            self.over = self.over or left

    def _certain(self, text: str) -> str:
        # A character whose bytes are not all there yet looks broken, and may not be; and what
        # could become a stop must not be told before it is known.
        text = text.rstrip(_BROKEN)
        begun = max((overlap(text, stop) for stop in self._stops), default=0)
        return text[: len(text) - begun]


def _tokens(loaded: _Loaded, prompt: LocalPrompt) -> list[int]:
    try:
        text = loaded.tokenizer.apply_chat_template(
            prompt.told(), tokenize=False, add_generation_prompt=True
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
