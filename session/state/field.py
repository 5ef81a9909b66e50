"""The kinds of fields that a session's state has: what each holds at first, what it takes, how it is bounded."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Fields = Mapping[str, "Field"]


class Damaged(Exception):
    """A value is not what its field holds."""


class Field:
    """One field.

    Args:
        first: what it holds where nothing is known; called for each new state.
        read: the value as it is kept, cut to its bound; raises Damaged for a value of another type.
        bound: what limits it, for the docs.
        about: what it says, for the docs.
    """

    __slots__ = ("about", "bound", "first", "read")

    def __init__(self, first: Callable[[], Any], read: Callable[[Any], Any], bound: str, about: str) -> None:
        self.first = first
        self.read = read
        self.bound = bound
        self.about = about


def text(most: int, about: str) -> Field:
    """A string of at most so many characters."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise Damaged("no text")
        return value[:most]

    return Field(str, read, f"{most} characters", about)


def texts(most: int, characters: int, about: str) -> Field:
    """A list of strings: the last so many, each cut."""

    def read(value: Any) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise Damaged("no list of texts")
        return [item[:characters] for item in value[-most:]]

    return Field(list, read, f"{most} of {characters} characters", about)


def flag(about: str) -> Field:
    """True or false."""

    def read(value: Any) -> bool:
        if not isinstance(value, bool):
            raise Damaged("neither true nor false")
        return value

    return Field(bool, read, "", about)


def whole(about: str) -> Field:
    """An integer, 0 at first."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise Damaged("no integer")
        return value

    return Field(int, read, "", about)


def number(about: str) -> Field:
    """A number, 0 at first."""
    return Field(float, _number, "", about)


def maybe_number(about: str) -> Field:
    """A number, or null where it is not known."""
    return Field(lambda: None, lambda value: None if value is None else _number(value), "", about)


def times(most: int, characters: int, about: str) -> Field:
    """Names and when: the last so many."""

    def read(value: Any) -> dict[str, float]:
        if not isinstance(value, dict):
            raise Damaged("no object")
        return {name[:characters]: _number(at) for name, at in list(value.items())[-most:]}

    return Field(dict, read, f"{most}", about)


def one(fields: Fields, about: str) -> Field:
    """An object that is always there; a field it lacks is as at first."""
    return Field(lambda: blank(fields), lambda value: read_object(fields, value), "", about)


def maybe_one(fields: Fields, about: str) -> Field:
    """An object with all of its fields, or null."""
    return Field(
        lambda: None, lambda value: None if value is None else read_object(fields, value, whole=True), "", about
    )


def many(most: int, fields: Fields, about: str, *, first_ones: bool = False) -> Field:
    """A list of objects with all of their fields: the last so many, or the first."""

    def read(value: Any) -> list[dict[str, Any]]:
        if not isinstance(value, list):
            raise Damaged("no list")
        return [read_object(fields, item, whole=True) for item in (value[:most] if first_ones else value[-most:])]

    return Field(list, read, f"{most}", about)


def blank(fields: Fields) -> dict[str, Any]:
    """An object of which nothing is known yet."""
    return {name: field.first() for name, field in fields.items()}


def read_object(fields: Fields, value: Any, *, whole: bool = False) -> dict[str, Any]:
    """The fields with the values of an object, each within its bound.

    Raises:
        Damaged: it is no object, a field has the wrong type, or, with `whole`, one is missing.
    """
    if not isinstance(value, dict):
        raise Damaged("no object")
    found: dict[str, Any] = {}
    for name, field in fields.items():
        if name in value:
            try:
                found[name] = field.read(value[name])
            except Damaged as damaged:
                raise Damaged(f"{name}: {damaged}") from None
        elif whole:
            raise Damaged(f"{name} is missing")
        else:
            found[name] = field.first()
    return found


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Damaged("no number")
    return value
