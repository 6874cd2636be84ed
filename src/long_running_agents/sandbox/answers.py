"""From a kernel's answer, which may say anything, to a result that is what it seems."""

import math
from typing import Any, cast

from long_running_agents.sandbox.result import CodeError, ExecResult, Failure, Json

_STOPPED = {
    "timeout": (Failure.TIMEOUT, "it took longer than it was given"),
    "memory": (Failure.MEMORY, "it used more memory than the sandbox may"),
    "disk": (Failure.DISK, "the workspace is full; delete files before you go on"),
    "output": (Failure.OUTPUT, "it printed more than can be taken"),
    "cancelled": (Failure.KILLED, "it was stopped"),
}
_DEEPEST = 100
_MOST_CODES = 256


def result_of(answer: Json, *, isolation: tuple[str, ...], out_of_memory: bool) -> ExecResult:
    """Read an answer.

    Args:
        answer: What the kernel said.
        isolation: What stood around it.
        out_of_memory: Whether the machine has killed a process for its memory meanwhile.
    """
    exit_code = answer.get("exit_code")
    return ExecResult(
        stdout=text(answer.get("stdout")),
        stderr=text(answer.get("stderr")),
        display=tuple(_shown(item) for item in _list(answer.get("display"))),
        value=clean(answer.get("value")),
        error=_error(answer, out_of_memory=out_of_memory),
        exit_code=exit_code if type(exit_code) is int and abs(exit_code) < _MOST_CODES else None,
        rolled_back=answer.get("rolled_back") is True,
        truncated=answer.get("truncated") is True,
        duration_ms=_number(answer.get("duration_ms")),
        memory=_count(answer.get("memory")),
        isolation=isolation,
    )


def lost(failure: Failure, message: str, *, isolation: tuple[str, ...]) -> ExecResult:
    """The result of a call whose sandbox is gone."""
    error = CodeError(name=failure, message=f"{message}; its state is lost, its files are not")
    return ExecResult(error=error, alive=False, isolation=isolation)


def _error(answer: Json, *, out_of_memory: bool) -> CodeError | None:
    told = _object(answer.get("error"))
    words = {key: text(told.get(key)) for key in ("name", "message", "traceback")}
    stopped = _STOPPED.get(text(answer.get("stopped")))
    if stopped is not None:
        return CodeError(name=stopped[0], message=stopped[1], traceback=words["traceback"])
    if answer.get("died") is True or (out_of_memory and not told):
        return _death(answer, out_of_memory=out_of_memory)
    return CodeError(**words) if told else None


def _death(answer: Json, *, out_of_memory: bool) -> CodeError:
    state = "the state before it is lost too" if answer.get("state_lost") is True else ""
    if out_of_memory:
        name, message = Failure.MEMORY, "it used more memory than the sandbox may"
    else:
        name, message = Failure.KILLED, "its process died: a signal, a crash or os._exit"
    return CodeError(name=name, message="; ".join(part for part in (message, state) if part))


def text(value: object) -> str:
    """A string that can be written down: no lone surrogates."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode("utf-8")


def clean(value: Any, depth: int = 0) -> Any:
    """JSON data whose strings can be written down."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no such number, but some that are too large to be another.
        return str(value)
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        return [clean(item, depth + 1) for item in _list(cast("object", value))]
    if isinstance(value, dict):
        return {
            text(key): clean(item, depth + 1)
            for key, item in _object(cast("object", value)).items()
        }
    return value


def _shown(item: object) -> dict[str, str]:
    return {text(media): text(content) for media, content in _object(item).items()}


def _object(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _count(value: object) -> int:
    return value if type(value) is int and 0 <= value < 1 << 53 else 0


def _number(value: object) -> float:
    return value if isinstance(value, float) and math.isfinite(value) else 0.0
