"""The Transformers engine with a tiny model of random weights: shapes, never sense."""

import json
import os
import re
import subprocess
import sys

import openai
import pytest
import torch
import transformers
from pydantic_ai.messages import ModelRequest, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from long_running_agents.config.settings import ModelSettings as OwnSettings
from long_running_agents.errors import CorruptData
from long_running_agents.models.embedded import Embedded
from long_running_agents.models.factory import ModelFactory
from long_running_agents.models.local.backends import TransformersEngine
from long_running_agents.models.local.engine import (
    ContextExceeded,
    Finished,
    LocalPrompt,
    PlainMessage,
    Sampling,
    TextPiece,
)
from long_running_agents.models.local.model import LocalModel

pytestmark = pytest.mark.anyio

TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A model of a few thousand weights that reads bytes."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: place for place, letter in enumerate(alphabet)}
    raw = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|end|>")
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(7)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
async def engine(folder):
    engine = TransformersEngine(folder, threads=1, idle_after=None)
    yield engine
    await engine.unload()


def asked(text="hi", schema=None, **sampling):
    chosen = Sampling(**{"max_tokens": 12, "temperature": 0.0, **sampling})
    return LocalPrompt(messages=(PlainMessage("user", text),), sampling=chosen, schema=schema)


async def told(engine, prompt):
    return [piece async for piece in engine.stream(prompt)]


def text(pieces):
    return "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))


async def test_words_come_and_the_end_says_what_it_took(engine):
    assert not engine.loaded
    first, again = await told(engine, asked()), await told(engine, asked())

    assert engine.loaded
    assert engine.context == 2048
    assert text(first) == text(again) != ""
    assert isinstance(first[-1], Finished)
    assert 0 < first[-1].completion_tokens <= 12
    assert first[-1].prompt_tokens > 0


async def test_a_seed_makes_chance_repeatable(engine):
    prompt = asked(temperature=1.5, top_p=0.9, seed=3)

    assert text(await told(engine, prompt)) == text(await told(engine, prompt))


async def test_a_stop_ends_the_words_before_it(engine):
    whole = text(await told(engine, asked(max_tokens=30)))
    stop = whole[3:5]
    pieces = await told(engine, asked(max_tokens=30, stop=(stop,)))

    assert text(pieces) == whole.partition(stop)[0]
    assert pieces[-1].reason == "stop"


async def test_a_schema_leaves_no_choice(engine):
    schema = {
        "type": "object",
        "properties": {"mood": {"enum": ["good", "bad"]}},
        "required": ["mood"],
        "additionalProperties": False,
    }
    pieces = await told(engine, asked(schema=schema, max_tokens=60))

    assert json.loads(text(pieces))["mood"] in ("good", "bad")
    assert pieces[-1].reason == "stop"


async def test_the_same_model_makes_calls_with_this_engine(engine):
    tool = ToolDefinition(
        name="paint",
        description="Paint.",
        parameters_json_schema={
            "type": "object",
            "properties": {"colour": {"enum": ["red", "blue"]}},
            "required": ["colour"],
        },
    )
    response = await LocalModel(engine).request(
        [ModelRequest.user_text_prompt("go")],
        ModelSettings(max_tokens=80, temperature=0.0),
        ModelRequestParameters(function_tools=[tool], allow_text_output=False, output_mode="tool"),
    )
    [call] = response.parts

    assert isinstance(call, ToolCallPart)
    assert call.args_as_dict()["colour"] in ("red", "blue")


async def test_a_stream_that_is_left_stops_the_work(engine):
    stream = engine.stream(asked(max_tokens=1500, temperature=1.0, seed=1))
    assert isinstance(await anext(stream), TextPiece)
    await stream.aclose()

    assert isinstance((await told(engine, asked()))[-1], Finished)


async def test_what_does_not_fit_is_refused(engine):
    with pytest.raises(ContextExceeded):
        await told(engine, asked("word " * 1000))


async def test_a_folder_without_weights_is_refused(tmp_path):
    engine = TransformersEngine(tmp_path, idle_after=None)

    with pytest.raises(CorruptData):
        await told(engine, asked())


@pytest.fixture
def served(folder, tmp_path):
    """The command, in a process of its own: its address."""
    command = [sys.executable, "-m", "long_running_agents", "models", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--engine", "transformers", "--path", str(folder)],
        env={**os.environ, "LRA_HOME": str(tmp_path / "home")},
        stderr=subprocess.PIPE,
        text=True,
    )
    said = process.stderr.readline()
    yield re.search(r"http://\S+/v1", said)[0]
    process.terminate()
    process.wait()
    process.stderr.close()


def test_a_command_serves_a_folder(served):
    client = openai.OpenAI(base_url=served, api_key="none")
    answer = client.chat.completions.create(
        model="tiny", messages=[{"role": "user", "content": "hi"}], max_tokens=5, temperature=0
    )

    assert [model.id for model in client.models.list()] == ["tiny"]
    assert answer.choices[0].message.content
    assert 0 < answer.usage.completion_tokens <= 5


async def test_a_folder_is_asked_by_its_path(folder):
    [choice] = ModelFactory(OwnSettings(), {}, None, Embedded(None)).choices(f"local:{folder}")
    response = await choice.model.request(
        [ModelRequest.user_text_prompt("go")],
        ModelSettings(max_tokens=5, temperature=0.0),
        ModelRequestParameters(),
    )

    assert choice.model.context_window == 2048
    assert 0 < response.usage.output_tokens <= 5
    await choice.model.wrapped.engine.unload()


async def test_memory_is_let_go_of(engine):
    await told(engine, asked())
    await engine.unload()

    assert not engine.loaded
