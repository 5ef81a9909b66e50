"""What an embedding must offer to be searched by. Types only: nothing here is imported at run time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from recall import contextual, static_table


class VectorSpace(Protocol):
    """A module or object that turns texts into int8 vectors of one space, the largest |component| 127.

    A document may have a vector in several spaces (`core.store.spaces`); vectors of different spaces do not compare. A
    text that the space does not know gives b"".
    """

    @property
    def SPACE(self) -> str:  # noqa: N802  # a constant of a module
        """The name that stands beside each stored vector; a change of weights is a new name."""

    @property
    def DIMENSIONS(self) -> int:  # noqa: N802  # likewise
        """How many components a vector has."""

    def embed_query(self, text: str) -> bytes:
        """The vector of a question."""

    def embed_passages(self, texts: Iterable[str]) -> Iterator[bytes]:
        """The vectors of documents, in order."""


SPACES: tuple[VectorSpace, ...] = (static_table, contextual)
"""The static one is always there; the contextual one where its extra is installed. mypy holds them to the protocol."""
