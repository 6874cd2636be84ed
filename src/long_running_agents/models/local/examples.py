"""What people say when they want a tool: a few sentences for each tool that we know.

They are shown to small models before the conversation. A model that has seen two uses of a tool
chooses far better than one that has only read its description. Tools that are not listed here
get an example made from their description.
"""

from dataclasses import dataclass, field

from long_running_agents.models.local.engine import Json


@dataclass(frozen=True, slots=True)
class Example:
    """Something said, and the call it should lead to."""

    said: str
    arguments: Json = field(default_factory=dict[str, object])


EXAMPLES: dict[str, tuple[Example, ...]] = {
    "list_files": (
        Example("What's inside the reports folder?", {"path": "reports"}),
        Example("show me everything in my workspace", {"path": "."}),
    ),
    "read_file": (
        Example("Open notes.txt and tell me what it says.", {"path": "notes.txt"}),
        Example("what does setup.cfg contain?", {"path": "setup.cfg"}),
    ),
    "write_file": (
        Example(
            "Save 'call the bank' in a file named todo.txt.",
            {"path": "todo.txt", "content": "call the bank"},
        ),
    ),
    "write_memory": (
        Example(
            "Remember: my sister lives in Oslo.", {"content": "The user's sister lives in Oslo."}
        ),
        Example("Keep in mind that I hate olives.", {"content": "The user hates olives."}),
    ),
    "search_memory": (
        Example("What did I tell you about my car?", {"query": "the user's car"}),
        Example("where does my sister live?", {"query": "the user's sister"}),
    ),
    "create_task": (
        Example("Add a task to water the plants.", {"title": "Water the plants"}),
        Example("I need to renew my passport, note it as a to-do.", {"title": "Renew my passport"}),
    ),
    "list_tasks": (Example("Which tasks are open?"),),
    "execute_code": (
        Example("Calculate 391 * 77 with Python.", {"code": "print(391 * 77)"}),
        Example(
            "Run a script that prints the even numbers below 20.",
            {"code": "print([n for n in range(20) if n % 2 == 0])"},
        ),
    ),
    "shell": (Example("Run uname -a for me.", {"command": "uname -a"}),),
}

SMALL_TALK: tuple[tuple[str, str], ...] = (
    ("Hello!", "Hello! What can I do for you?"),
    ("What is a haiku?", "A haiku is a short Japanese poem of three lines."),
    ("Thank you, that helped a lot.", "You are welcome!"),
)
"""Things said that need no tool, and an answer to each."""
