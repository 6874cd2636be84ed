"""Whether the model in the box picks the right tool: 30 easy prompts, asked as the agent asks.

    python -m benchmarks.tool_selection FOLDER [NAME …]

The prompts share no sentence with the examples the model is shown.
"""

import argparse
import asyncio
import time
from pathlib import Path

from pydantic_ai.messages import ModelRequest, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from long_running_agents.models.local.catalog import DEFAULT
from long_running_agents.models.local.model import LocalModel, open_engine


def tool(name, description, **arguments):
    properties = {key: {"type": "string", "description": what} for key, what in arguments.items()}
    return ToolDefinition(
        name=name,
        description=description,
        parameters_json_schema={
            "type": "object",
            "properties": properties,
            "required": list(arguments),
            "additionalProperties": False,
        },
    )


TOOLS = [
    tool("list_files", "List the files in a folder.", path="The folder."),
    tool("write_memory", "Remember a fact about the user.", content="The fact."),
    tool("search_memory", "Search what the user told you earlier.", query="What to look for."),
    tool("create_task", "Add a task to the task list.", title="What to do."),
    tool("execute_code", "Run Python code and return its output.", code="The code."),
]

# What is said, the tool it calls for (None: just talk), and a word the arguments must have.
PROMPTS = [
    ("List the files in the src directory.", "list_files", "src"),
    ("Which files are in the downloads folder?", "list_files", "downloads"),
    ("Show the contents of the folder images.", "list_files", "images"),
    ("Can you list what is in /etc?", "list_files", "etc"),
    ("What files do I have in backup?", "list_files", "backup"),
    ("Remember that my dog is called Rex.", "write_memory", "rex"),
    ("Please remember my favourite colour is green.", "write_memory", "green"),
    ("Don't forget: I am allergic to peanuts.", "write_memory", "peanut"),
    ("Note for later that I work at a hospital.", "write_memory", "hospital"),
    ("Save this about me: I was born in Lisbon.", "write_memory", "lisbon"),
    ("What is my dog's name?", "search_memory", "dog"),
    ("Do you remember my favourite colour?", "search_memory", "colo"),
    ("What do you know about my job?", "search_memory", "job"),
    ("Search your memory for my allergies.", "search_memory", "allerg"),
    ("What did I say about my holiday plans?", "search_memory", "holiday"),
    ("Create a task to buy milk.", "create_task", "milk"),
    ("Add 'write the quarterly report' to my tasks.", "create_task", "report"),
    ("Put cleaning the garage on my to-do list.", "create_task", "garage"),
    ("New task: book a dentist appointment.", "create_task", "dentist"),
    ("Please make a task for fixing the login bug.", "create_task", "login"),
    ("Run Python code to compute 2 to the power of 50.", "execute_code", "50"),
    ("Use Python to sort the list [5, 3, 9].", "execute_code", "5"),
    ("Execute print('hello world').", "execute_code", "hello"),
    ("Write and run code that sums the numbers from 1 to 100.", "execute_code", "10"),
    ("Compute the factorial of 12 in Python.", "execute_code", "12"),
    ("Hi there, how are you today?", None, ""),
    ("What is the capital of France?", None, ""),
    ("Tell me a joke about cats.", None, ""),
    ("Explain photosynthesis in one sentence.", None, ""),
    ("Good night, see you tomorrow.", None, ""),
]


async def choose(model, said):
    parameters = ModelRequestParameters(function_tools=TOOLS)
    settings = ModelSettings(max_tokens=120, temperature=0)
    async with model.request_stream(
        [ModelRequest.user_text_prompt(said)], settings, parameters
    ) as stream:
        async for _ in stream:
            calls = [part for part in stream.get().parts if isinstance(part, ToolCallPart)]
            # The first words of an answer tell that no tool was chosen.
            return calls[0] if calls else None
    return None


async def score(name, folder, threads):
    engine = open_engine(name, folder, context=4096, threads=threads)
    model = LocalModel(engine)
    right = full = 0
    began = time.monotonic()
    for said, wanted, word in PROMPTS:
        call = await choose(model, said)
        found = call.tool_name if call else None
        right += found == wanted
        if found != wanted:
            print(f"    {said!r}: {found} instead of {wanted}")
        elif call is not None:
            hit = word in call.args_as_json_str().lower()
            full += hit
            if not hit:
                print(f"    {said!r}: no {word!r} in {call.args_as_json_str()}")
    await engine.unload()
    seconds = time.monotonic() - began
    calls = sum(wanted is not None for _, wanted, _ in PROMPTS)
    print(f"{name}: {right}/{len(PROMPTS)} tools, {full}/{calls} arguments, {seconds:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the weights are")
    parser.add_argument("names", nargs="*", default=[DEFAULT])
    parser.add_argument("--threads", type=int)
    chosen = parser.parse_args()
    for name in chosen.names:
        asyncio.run(score(name, chosen.folder, chosen.threads))


if __name__ == "__main__":
    main()
