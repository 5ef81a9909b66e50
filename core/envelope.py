"""The JSON envelope of the mirrored CLI: `{ok, command, result, error?, fix?, next_actions}`."""

from __future__ import annotations

from core.errors import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NotRequired, TypedDict

    class NextAction(TypedDict):
        """A command that makes sense next. With `params`, it is a template to fill in."""

        command: str
        description: str
        params: NotRequired[dict[str, dict[str, Any]]]

    class Envelope(TypedDict):
        """What a command prints."""

        ok: bool
        command: str
        result: Any
        error: NotRequired[dict[str, str]]
        fix: NotRequired[str]
        next_actions: list[NextAction]


def done(command: str, result: object, next_actions: list[NextAction] | None = None) -> Envelope:
    """The envelope of a command that succeeded. `command` begins with `joelclaw `."""
    return {"ok": True, "command": command, "result": result, "next_actions": next_actions or []}


def failed(command: str, failure: Failure, next_actions: list[NextAction] | None = None) -> Envelope:
    """The envelope of a command that failed."""
    return {
        "ok": False,
        "command": command,
        "result": None,
        "error": {"message": failure.message or failure.code, "code": failure.code},
        "fix": failure.fix,
        "next_actions": next_actions or [],
    }
