"""Reads and writes a client's JSON settings. What is not ours keeps its value and its order."""

import json
import re
from typing import Any

BOM = "\ufeff"
STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)


class Malformed(Exception):
    """The client cannot read the text, or it cannot be edited without changing entries of others."""


def parsed(text: str, *, comments: bool) -> Any:
    """The value of a JSON text; `{}` for a blank text. Raises Malformed."""
    plain = _without_comments(text.removeprefix(BOM), comments=comments)
    if not plain.strip():
        return {}
    try:
        return json.loads(plain, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except ValueError as error:
        raise Malformed(str(error)) from None


def edited(text: str, wanted: dict[str, Any], *, comments: bool) -> str:
    """The JSON text of `wanted`, with the indentation and line ends of `text`. Raises Malformed if it has comments."""
    bom = BOM if text.startswith(BOM) else ""
    if _without_comments(text, comments=comments) != text:
        raise Malformed("it has comments, which would be lost: remove them, or add the hooks by hand")
    indented = re.search(r'\n([ \t]+)"', text)
    new = json.dumps(wanted, ensure_ascii=False, indent=indented[1] if indented else 2)
    if text.endswith("\n") or not text.strip():
        new += "\n"
    return bom + (new.replace("\n", "\r\n") if "\r\n" in text else new)


def same(one: object, other: object) -> bool:
    """Whether two values are equal, whatever the order of their keys."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise Malformed(f"the key {next(name for name in names if names.count(name) > 1)!r} is there twice")
    return found


def _no_constant(name: str) -> Any:
    raise Malformed(f"{name} is not JSON")


def _without_comments(text: str, *, comments: bool) -> str:
    """The text with each comment replaced by as many spaces, so that positions stay the same."""
    if not comments:
        return text
    return STRING_OR_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " " * len(found[0]), text)
