"""Skills as a program uses them: functions that are stored, versioned and run in a sandbox.

::

    store = FunctionStore(session)
    await store.store_function(name="double", code=source, description="Twice as much")
    result = await store.execute_function("double", {"number": 21})

The session is an open home: a `StructuredMemoryStore` after `init_db`, or what `open_app` gives.
A function that a program stores is in use at once, if it passes its review and its trial.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from long_running_agents.app import App
from long_running_agents.domain.skill import (
    Json,
    Skill,
    SkillCreator,
    SkillDraft,
    SkillExample,
    SkillKind,
    SkillLimits,
    SkillOrigin,
    Version,
)
from long_running_agents.errors import NotConfigured
from long_running_agents.library import StructuredMemoryStore
from long_running_agents.skills.library import SkillLibrary

_BY = "library"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFunction:
    """A function with everything that is known of it."""

    name: str
    version: str
    """What its maker calls it, or its number."""
    number: int
    hash: str
    """The sha256 of its code."""
    code: str
    description: str
    input_schema: Json
    output_schema: Json | None
    is_async: bool
    requires_context: bool
    memory_limit: int
    """Megabytes."""
    timeout: float
    """Seconds."""
    safe_mode: bool
    allowed_imports: tuple[str, ...]
    enabled: bool
    calls: int
    failures: int


class FunctionStore:
    """Stores functions and runs them; the same skills that the agent uses as tools."""

    def __init__(self, session: StructuredMemoryStore | App) -> None:
        self._session = session

    async def store_function(  # noqa: PLR0913 - the documented fields
        self,
        name: str,
        code: str,
        description: str = "",
        input_schema: Json | None = None,
        output_schema: Json | None = None,
        *,
        version: str = "",
        is_async: bool | None = None,
        requires_context: bool | None = None,
        memory_limit: int | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - of the function, not of this call
        safe_mode: bool = True,
        allowed_imports: Sequence[str] | None = None,
        examples: Sequence[Mapping[str, Any]] = (),
    ) -> StoredFunction:
        """Store a function, or the next version of it; the same again changes nothing.

        Args:
            name: What it is called, in the code too.
            code: A Python function with type hints.
            description: What it does, if the code has no docstring.
            input_schema: The JSON Schema of its arguments, beside what the hints say.
            output_schema: The JSON Schema of its result, beside what the hints say.
            version: What you call this version, such as 1.0.
            is_async: Whether it is a coroutine; checked against the code.
            requires_context: Whether its first parameter takes the context; checked, too.
            memory_limit: Megabytes one call may use.
            timeout: Seconds one call may take.
            safe_mode: Whether only allowed modules may be imported.
            allowed_imports: Those modules, if others than the settings'.
            examples: Calls that must work: args, and result where you know it.

        Raises:
            SkillRefused: Its review or its trial found fault with it.
        """
        usual = self._app.settings.agent.skills
        draft = SkillDraft(
            source=code,
            name=name,
            description=description,
            input_schema=input_schema,
            output_schema=output_schema,
            is_async=is_async,
            requires_context=requires_context,
            limits=SkillLimits(
                timeout=timeout or usual.timeout, memory=memory_limit or usual.memory
            ),
            safe_mode=safe_mode,
            allowed_imports=None if allowed_imports is None else tuple(allowed_imports),
            examples=tuple(_example(each) for each in examples),
            label=version,
            brought=SkillOrigin(origin=SkillCreator.LIBRARY),
        )
        kept = await self._library.create(draft, enable=True, by=_BY)
        return _stored(await self._library.get(kept.name), kept)

    async def execute_function(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run a function in the sandbox and return its result.

        Raises:
            NotFound: No such function is in use.
            UsageError: The arguments are not what it takes.
            SkillFailed: It broke, or took too much time or memory.
        """
        returned = await self._library.call(
            name,
            dict(arguments or {}),
            where=SkillOrigin(origin=SkillCreator.LIBRARY),
            context=dict(context or {}),
        )
        return returned.value

    async def get_function(self, name: str, number: int | None = None) -> StoredFunction:
        """Look a function up: the version in use unless another is named.

        Raises:
            NotFound: There is no such function or version.
        """
        library = self._library
        return _stored(await library.get(name), await library.version(name, number))

    async def list_functions(self) -> list[StoredFunction]:
        """All functions, by name."""
        found = [each for each in await self._library.every() if each.kind is SkillKind.FUNCTION]
        return [_stored(each, await self._library.version(each.name)) for each in found]

    async def roll_back(self, name: str, number: int | None = None) -> StoredFunction:
        """Use an earlier version again: the one before unless another is named."""
        skill = await self._library.roll_back(name, number, by=_BY)
        return _stored(skill, await self._library.version(name))

    async def delete_function(self, name: str) -> None:
        """Forget a function with all its versions."""
        await self._library.delete(name, by=_BY)

    @property
    def _app(self) -> App:
        session = self._session
        return session.app if isinstance(session, StructuredMemoryStore) else session

    @property
    def _library(self) -> SkillLibrary:
        if self._app.workshop is None:
            raise NotConfigured(
                "Skills are switched off.", hint="Set agent.tools.enable.skills to use them."
            )
        return self._app.workshop.library


def _example(given: Mapping[str, Any]) -> SkillExample:
    return SkillExample(
        args=dict(given.get("args", {})), result=given.get("result"), checked="result" in given
    )


def _stored(skill: Skill, version: Version) -> StoredFunction:
    interface = version.interface
    return StoredFunction(
        name=version.name,
        version=version.label or str(version.number),
        number=version.number,
        hash=version.digest,
        code=version.source,
        description=interface.description,
        input_schema=interface.parameters,
        output_schema=interface.returns,
        is_async=interface.is_async,
        requires_context=bool(interface.context),
        memory_limit=version.limits.memory,
        timeout=version.limits.timeout,
        safe_mode=version.safe_mode,
        allowed_imports=version.allowed_imports,
        enabled=skill.uses(version.number),
        calls=skill.calls,
        failures=skill.failures,
    )
