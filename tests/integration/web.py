"""Tools with the names that the gate knows, and a web that is a dictionary."""

from pydantic_ai import FunctionToolset

from long_running_agents.domain.tool import Effect, Power
from long_running_agents.tools.deps import effect

FAKED = {
    f"agent__tools__enable__{family}": False for family in ("shell", "files", "fetch", "pyexe")
}
"""Switches the real tools off whose names are taken here."""


class Hands:
    """Fake tools that write down what they were asked to do."""

    def __init__(self, pages=None):
        self.pages = pages or {}
        self.done = []

    def toolset(self):
        """The tools, as they declare themselves."""
        tools = FunctionToolset(id="hands")
        once, read = Effect.ONCE, Effect.READ
        tools.add_function(self.shell, metadata=effect(once, powers=[Power.EXECUTE]))
        tools.add_function(self.execute_code, metadata=effect(once, powers=[Power.EXECUTE]))
        tools.add_function(self.install_packages, metadata=effect(once, powers=[Power.EXTEND]))
        tools.add_function(self.read_file, metadata=effect(read))
        tools.add_function(self.list_files, metadata=effect(read))
        tools.add_function(self.search_files, metadata=effect(read))
        changing = effect(Effect.IDEMPOTENT, powers=[Power.CHANGE])
        tools.add_function(self.write_file, metadata=changing)
        tools.add_function(self.edit_file, metadata=changing)
        web = effect(read, powers=[Power.SEND], foreign=True)
        tools.add_function(self.web_fetch, metadata=web)
        tools.add_function(self.web_search, metadata=web)
        return tools

    async def shell(self, command: str) -> str:
        self.done.append(("shell", command))
        return "ok"

    async def execute_code(self, code: str) -> str:
        self.done.append(("execute_code", code))
        return "ok"

    async def install_packages(self, packages: list[str]) -> str:
        self.done.append(("install_packages", packages))
        return "ok"

    async def read_file(self, path: str) -> str:
        self.done.append(("read_file", path))
        return f"the contents of {path}"

    async def list_files(self, path: str = ".") -> list[str]:
        self.done.append(("list_files", path))
        return ["a.py"]

    async def search_files(self, pattern: str) -> list[str]:
        self.done.append(("search_files", pattern))
        return ["a.py:1"]

    async def write_file(self, path: str, content: str, mode: str = "overwrite") -> str:
        self.done.append(("write_file", path))
        return "ok"

    async def edit_file(self, path: str, old: str, new: str) -> str:
        self.done.append(("edit_file", path))
        return "ok"

    async def web_fetch(self, url: str) -> str:
        self.done.append(("web_fetch", url))
        return self.pages.get(url, "nothing here")

    async def web_search(self, query: str) -> list[dict[str, str]]:
        self.done.append(("web_search", query))
        return [{"title": "A hit", "url": url} for url in self.pages]
