"""How much of a long history the model is shown."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """Bounds of the view: at most this many earlier messages, moved in blocks."""

    messages: int = 200

    def first(self, total: int) -> int:
        """The place of the first message shown, of a log that has ``total``.

        The view moves by half a window at a time, so the prompt keeps the same beginning for many
        turns and the provider's prompt cache keeps hitting.
        """
        if total <= self.messages:
            return 0
        block = max(1, self.messages // 2)
        return (total - self.messages + block - 1) // block * block
