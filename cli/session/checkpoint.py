"""`joelclaw checkpoint`: what one session is doing, kept while its context fills."""

from __future__ import annotations

from cli.answer import Answer, quoted, step
from cli.parameter import session_of
from core import TYPE_CHECKING, config
from core.errors import Failure, usage
from session import checkpoint
from session.record import own_event
from session.state import stored_id
from session.state_file import list_states, read_state, remove_state, unknown_session

if TYPE_CHECKING:
    from typing import Any

    from clients.event import HookEvent, Kind

CODE = "CHECKPOINT_INVALID_ARGS"
_STDIN_BYTES = 4_000_000
_EXAMPLE = 'give one object, such as {"session": "ID", "percent": 45, "messages": ["..."]}'
_USAGE = ("percent", "contextPercent", "tokens")
_MOST_PERCENT, _MOST_TOKENS = 1000, 10**15
_SHORTEST, _MOST_LISTED = 8, 10


def save(options: dict[str, Any]) -> Answer:
    """`joelclaw checkpoint save`: the end of a turn."""
    given: dict[str, Any] = {}
    if options["stdin"]:
        from cli import piped

        given = piped.read_json(_STDIN_BYTES, CODE, "give the last messages only", _EXAMPLE)
    session_id = session_of(options["session"] or "".join(_texts(given, "session", "sessionId")[:1]), CODE)
    given = _overlaid(given, options)
    result = checkpoint.save(_event("turn", session_id, given), config.load(), role="".join(_texts(given, "role")[:1]))
    session = quoted(result["sessionId"])
    actions = [step(f"joelclaw checkpoint show {session}", "everything known of this session")]
    if result["zone"] == "hot":
        actions.append(step(f"joelclaw checkpoint flush --session {session}", "before the compaction that is due"))
    return Answer(result, actions)


def flush(options: dict[str, Any]) -> Answer:
    """`joelclaw checkpoint flush`: before a compaction."""
    session_id = session_of(options["session"], CODE)
    event = _event("before_compaction", session_id, options)
    result = checkpoint.save(event, config.load(), role=options["role"] or "")
    after = f"joelclaw inject recovery --session {quoted(session_id)}"
    return Answer(result, [step(after, "after the compaction: the recovery note for the agent")])


def show(options: dict[str, Any]) -> Answer:
    """`joelclaw checkpoint show ID`: the whole state; of the id a beginning of 8 characters or more will do."""
    given = stored_id(options["id"])
    found = read_state(given)
    if found is None and len(given) >= _SHORTEST:
        begin_so = [one["sessionId"] for one in list_states() if one["sessionId"].startswith(given)]
        if len(begin_so) > 1:
            several = ", ".join(begin_so[:_MOST_LISTED])
            raise Failure("SESSION_AMBIGUOUS", f"several sessions begin with {given}: {several}", "give a longer id")
        found = read_state(begin_so[0]) if begin_so else None
    if found is None:
        raise unknown_session(options["id"])
    return Answer(found.to_json())


def list_(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every handler takes its options
    """`joelclaw checkpoint list`: all sessions, newest first."""
    sessions = list_states()
    actions = []
    if sessions:
        newest = {"id": {"description": "its id", "value": sessions[0]["sessionId"], "required": True}}
        actions.append(step("joelclaw checkpoint show <id>", "everything known of one session", newest))
    return Answer({"count": len(sessions), "sessions": sessions}, actions)


def clear(options: dict[str, Any]) -> Answer:
    """`joelclaw checkpoint clear ID`: forget the state of one session; its memories stay."""
    session_id = stored_id(options["id"])
    if not remove_state(session_id):
        raise unknown_session(options["id"])
    return Answer({"sessionId": session_id, "cleared": True})


def _overlaid(given: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """What stdin gives with the flags over it. One way of telling the context usage replaces the other."""
    flags = {name: value for name, value in options.items() if value not in (None, [])}
    if "percent" in flags or "tokens" in flags:
        given = {name: value for name, value in given.items() if name not in _USAGE}
    return {**given, **flags}


def _event(kind: Kind, session_id: str, given: dict[str, Any]) -> HookEvent:
    """What was given, as the event that a hook would have."""
    percent = _number(given, _MOST_PERCENT, "percent", "contextPercent")
    tokens = _number(given, _MOST_TOKENS, "tokens")
    window = _number(given, _MOST_TOKENS, "window", least=1)
    if percent is None and tokens is not None and window is None:
        raise usage(CODE, "--tokens needs --window", "give --window too, or --percent")
    return own_event(
        kind,
        session=session_id,
        messages=_texts(given, "message", "messages"),
        files=_texts(given, "file", "files"),
        percent=percent,
        tokens=None if tokens is None else int(tokens),
        window=None if window is None else int(window),
    )


def _first(given: dict[str, Any], *names: str) -> Any:
    """The value of the first of the names that has one; null counts as not given."""
    return next((given[name] for name in names if given.get(name) is not None), None)


def _number(given: dict[str, Any], most: float, *names: str, least: int = 0) -> float | None:
    value = _first(given, *names)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        said = f"{names[0]} is not a number from {least} to {most:g}"
        raise usage(CODE, said, f"give {names[0]} a number in that range")
    return value


def _texts(given: dict[str, Any], *names: str) -> list[str]:
    value = _first(given, *names)
    texts = [value] if isinstance(value, str) else value or []
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise usage(CODE, f"{names[0]} contains a value that is not text", f"give {names[0]} as JSON strings")
    return texts
