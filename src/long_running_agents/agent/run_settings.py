"""What a home's settings say about the running of turns."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from long_running_agents.agent.fitting import check_window
from long_running_agents.agent.history import View
from long_running_agents.agent.prompt import Section, instructions, section, sections
from long_running_agents.agent.recall import RecallSettings
from long_running_agents.agent.runner import RunSettings
from long_running_agents.config import Loaded, Settings
from long_running_agents.config.settings import AgentSettings
from long_running_agents.config.settings import ModelSettings as ChosenModel
from long_running_agents.domain.budget import Limits
from long_running_agents.domain.fitting import WindowOf
from long_running_agents.domain.history import Window
from long_running_agents.domain.policy import Rule, Rules, Ruling, Unattended
from long_running_agents.domain.session import Mode
from long_running_agents.home import workspace_of
from long_running_agents.models import names

SOUL, USER = "SOUL.md", "USER.md"


def run_settings(loaded: Loaded, model: Model | None, windows: WindowOf | None) -> RunSettings:
    """How turns are run in a home.

    Args:
        loaded: The settings.
        model: A model to use instead of the configured ones.
        windows: Whoever knows the context windows of models that no setting gives.
    """
    agent = loaded.settings.agent
    own = names.configured_name(agent.model) if model is None else model.model_name

    def window(name: str | None) -> int | None:
        if name == own and agent.model.context_window is not None:
            return agent.model.context_window
        return None if windows is None or name is None else windows(name)

    def told(owner: str) -> list[Section]:
        return sections(agent.name, _character(loaded, owner))

    if (known := window(own)) is not None:
        check_window(known, instructions(told(loaded.settings.owner)), agent.model.max_tokens)
    return RunSettings(
        instructions=told,
        windows=window,
        limits=limits_of(agent),
        rules=_rules(loaded.settings),
        tool_timeout=agent.tools.timeout,
        result_limit=agent.tools.result_limit,
        retries=agent.model.retries,
        model=_sampling(agent.model),
        redact=loaded.redact,
        patience=_patience(agent.tools.approval_expiry),
    )


def limits_of(agent: AgentSettings) -> dict[Mode, Limits]:
    """What a turn may use, by how far it may go on its own."""
    bounded = Limits(
        steps=agent.max_loop_iterations,
        tokens=agent.limits.tokens,
        cost=agent.limits.cost,
        tool_calls=agent.limits.tool_calls,
        seconds=agent.limits.seconds,
    )
    deep = replace(
        bounded, steps=agent.deep_work.max_iterations, tokens=agent.deep_work.token_budget
    )
    return {Mode.BOUNDED: bounded, Mode.DEEP_WORK: deep}


def _rules(settings: Settings) -> Rules:
    tools = settings.agent.tools
    return Rules(
        allow=tools.allow,
        require_approval=tools.require_approval,
        custom=[
            Rule(
                decision=Ruling(rule.decision),
                tool=rule.tool,
                program=rule.program,
                path=rule.path,
                host=rule.host,
                reason=rule.reason,
                tainted=rule.tainted,
            )
            for rule in tools.rules
        ],
        taint=tools.taint,
        network=bool(settings.sandbox.network),
        unsandboxed=settings.sandbox.unsafe_local,
        unattended=Unattended(tools.non_interactive_approval_policy),
    )


def _patience(minutes: float) -> timedelta | None:
    return timedelta(minutes=minutes) if minutes else None


def _sampling(chosen: ChosenModel) -> ModelSettings:
    sampling = ModelSettings()
    if chosen.max_tokens is not None:
        sampling["max_tokens"] = chosen.max_tokens
    if chosen.temperature is not None:
        sampling["temperature"] = chosen.temperature
    return sampling


def view_of(settings: Settings) -> View:
    """How much of the past a home's models are shown."""
    return View(
        window=Window(settings.sessions.max_history_messages),
        tokens=settings.sessions.max_history_tokens,
    )


def recall_of(settings: Settings) -> RecallSettings:
    """How much comes to mind in a home."""
    return RecallSettings(most=settings.memory.top_k, tokens=settings.memory.recall_tokens)


def _character(loaded: Loaded, owner: str) -> list[Section]:
    own = workspace_of(loaded, owner)
    # The agent is the same for everybody, unless somebody gives it another character.
    soul = own if (own / SOUL).is_file() else workspace_of(loaded)
    files = [("Who you are", soul / SOUL), ("Who you work for", own / USER)]
    texts = [(title, path, _text(path)) for title, path in files]
    return [section(path.name, title, text) for title, path, text in texts if text]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""
