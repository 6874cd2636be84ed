"""What is known of each model's context window, and of its way of counting."""

from dataclasses import dataclass

from long_running_agents.domain.fitting import WindowOf
from long_running_agents.models.listening import Choice


@dataclass(slots=True)
class Gauge:
    """What is known of a model's window and its way of counting."""

    window: int | None
    ratio: float = 1.0
    """Real tokens for each one that we estimate."""
    refused: int | None = None
    """The window as it was learned from a refusal."""

    @property
    def holds(self) -> int | None:
        """The window to fit to."""
        known = [size for size in (self.window, self.refused) if size is not None]
        return min(known, default=None)


class Gauges:
    """A gauge for each model, kept from turn to turn."""

    def __init__(self, windows: WindowOf) -> None:
        self._windows = windows
        self._made: dict[str, Gauge] = {}

    def of(self, choice: Choice) -> Gauge:
        """The gauge of a model; its window is asked for anew, since servers are reconfigured."""
        window = self._windows(choice.name) or choice.model.context_window
        gauge = self._made.setdefault(choice.name, Gauge(window))
        if gauge.window != window:
            gauge.window, gauge.refused = window, None
        return gauge
