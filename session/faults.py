"""Faults that do not stop a session: kept, told in the result and as an event, and what comes after them goes on."""

from __future__ import annotations

from core.errors import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from session.records import Fault


class fault_boundary:  # noqa: N801  # reads as the statement it is
    """`with fault_boundary(faults, "recall"):` adds what the block raises to `faults` instead of raising it."""

    __slots__ = ("_faults", "_step")

    def __init__(self, faults: list[Fault], step: str) -> None:
        self._faults = faults
        self._step = step

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if not isinstance(error, Exception):
            return False
        self._faults.append(fault_of(self._step, error))
        return True


def fault_of(step: str, error: Exception) -> Fault:
    """An error as a fault of a step; what SQLite raises is told as its Failure."""
    if type(error).__module__ == "apsw":
        from core.store import sqlite

        if isinstance(error, sqlite.StoreError):
            error = sqlite.as_failure(error)
    code = error.code if isinstance(error, Failure) else type(error).__name__
    return {"step": step, "code": code, "message": str(error)}


def errors_of(faults: Sequence[Fault]) -> dict[str, dict[str, str]]:
    """What a result tells of faults, by their step: `recallError`, `writeError`, `eventError` …"""
    return {fault["step"] + "Error": {"code": fault["code"], "message": fault["message"]} for fault in faults}
