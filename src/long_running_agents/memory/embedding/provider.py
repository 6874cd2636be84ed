"""Vectors from a provider with a protocol of its own, through Pydantic AI."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from pydantic_ai.embeddings import EmbeddingModel, infer_embedding_model
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.providers import infer_provider, infer_provider_class

from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory.embedding.base import Vectors
from long_running_agents.memory.embedding.remote import Purpose

KEYS: dict[str, tuple[str, ...]] = {
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "cohere": ("CO_API_KEY",),
    "voyageai": ("VOYAGE_API_KEY",),
}
"""The variables that may hold a provider's key."""


class ProviderSource:
    """Asks one embedding model of Pydantic AI.

    The model is made at the first text, since that loads the provider's package.
    """

    def __init__(self, name: str, make: Callable[[], EmbeddingModel]) -> None:
        self._name = name
        self._make = make
        self._model: EmbeddingModel | None = None

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """One row per text.

        Raises:
            EmbedderFailed: The package or the key is missing, or the provider failed.
        """
        try:
            self._model = self._model or self._make()
            result = await self._model.embed(list(texts), input_type=purpose)
            return np.array(result.embeddings, dtype=np.float32)
        except (ImportError, UserError) as error:
            # Pydantic AI says which package or variable it misses.
            raise self._failed(error, "Mend that, or change memory.embedding_model.") from error
        except AgentRunError as error:
            raise self._failed(error, "Check the key, and memory.embedding_model.") from error
        except Exception as error:
            # Each provider has a library of its own, and not all their errors are translated.
            raise self._failed(error, "Check memory.embedding_model.") from error

    def _failed(self, error: Exception, hint: str) -> EmbedderFailed:
        why = (str(error) or type(error).__name__)[:300].rstrip(". ")
        return EmbedderFailed(f"The embedding model {self._name} failed: {why}.", hint=hint)


def library_model(name: str, variables: Mapping[str, str]) -> EmbeddingModel:
    """The model of a name, with its key from the variables rather than the process."""

    def provider(known: str) -> Any:
        keys = [variables[each] for each in KEYS.get(known, ()) if variables.get(each)]
        if not keys:
            return infer_provider(known)
        return cast("Any", infer_provider_class(known))(api_key=keys[0])

    return infer_embedding_model(name, provider_factory=provider)
