"""What each moment of an agent's session calls for; the same for every client.

The archive comes first: what was said is in the store before anything is recalled, and before a compaction drops it.
"""

from __future__ import annotations

import os

from clients import registry
from core import clock
from core.errors import Failure
from session import checkpoint
from session.inject.judging import Judging
from session.state import state_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from clients.event import HookEvent, Text
    from clients.item import Item
    from core.config import Config
    from session.context_usage import ContextUsage
    from session.session_store import Store
    from session.state.schema import SessionState
    from session.state.zones import Turn

SHRUNK = 0.6
"""A prompt this much smaller than the one before was compacted, where the client does not say so."""
_TURN = ("prompt", "tool", "turn")
"""The events of a turn: each notes something in the state."""
_REACHING = ("prompt", "tool")
"""Those of them in which context reaches the model, in every client."""
_UNKNOWN: ContextUsage = {"tokens": None, "window": None, "percent": None, "source": "none"}


def respond(
    event: HookEvent,
    *,
    agent: str,
    role: str,
    silent: bool,
    config: Config,
    reached: Store,
    until: float,
    unsaved: list[Callable[[], object]],
) -> list[Text]:
    """The texts for the model, mostly none.

    Args:
        silent: the client does not tell of a compaction; it is seen in the fall of the context.
        until: `time.monotonic()` after which the archive stops, and goes on at the next event.
        unsaved: gets what must be done even when the time is over before the answer is there.

    Raises:
        Failure: the session's state cannot be read or written.
    """
    session_id = state_file.identity(event["session"])
    before = _known(session_id)
    cwd = event["cwd"] or (before["cwd"] if before else "")
    items = _archive(event, session_id, agent, os.path.basename(cwd.rstrip("/")), reached, until)
    kind = event["kind"]
    judging = Judging(items, ended=kind != "tool", role=role)
    if before is not None and before["pendingFeedback"] and items and kind not in _TURN:
        _attempt("feedback", reached, lambda: judging.alone(session_id, reached))
    if kind == "start":
        from session.inject import recovery, start

        texts = _texts(start.start(session_id, role, config, reached=reached))
        if event["source"] == "compact":  # an earlier process of the client had the signpost, and took it along
            texts += _texts(recovery.again(session_id, reached))
        return texts
    if kind == "after_compaction":
        return _recovered(session_id, role, config, reached)
    if kind == "end":
        _timed(session_id, event, None, config, reached)
        return []
    usage = _usage(event, agent, config)
    if kind == "before_compaction":
        texts = _announced(agent, config, reached)
        _flush(session_id, event, agent, role, usage, config, reached, defer=True)
        return texts
    texts = []
    if silent:
        compacted = before is not None and _has_shrunk(before, usage)
        if compacted and kind in _REACHING:
            _flush(session_id, event, agent, role, _UNKNOWN, config, reached, defer=False)
            texts += _recovered(session_id, role, config, reached)
        elif compacted or usage["source"] != "usage":
            usage = {**usage, "tokens": None}  # the next event that reaches the model is to see the fall
    turn = _turn(event, agent, role, usage)
    if kind == "prompt":
        from session.hook import prompt

        message = event["messages"][-1] if event["messages"] else ""
        told = prompt.take(
            session_id, turn, config, reached, message=message, known=before, judging=judging, unsaved=unsaved
        )
        _timed(session_id, event, usage, config, reached)
        texts += _scoped(session_id, event, role, cwd, config, reached)
        return texts + (_texts(told) if told is not None else [])
    from session.hook import turn as turns

    files = event["files"] if kind in _REACHING else ()
    current, scoped = turns.take(
        session_id, turn, config, reached, files=files, cwd=cwd, known=before, judging=judging, unsaved=unsaved
    )
    _timed(session_id, event, usage, config, reached)
    if kind in _REACHING:
        active_at = before["updatedAt"] if before else None
        texts += _texts(scoped) if scoped is not None else []
        texts += _refreshed(current, role, usage, config, reached, active_at)
    return texts


def _archive(
    event: HookEvent, session_id: str, agent: str, project: str, reached: Store, until: float
) -> Sequence[Item]:
    """Take in what is new of what was said; returns it."""
    if event["items"]:
        reached.archive_items(event["items"], agent=agent, session=session_id, project=project)
        return event["items"]
    if not event["transcript"]:
        return []
    return reached.archive(event["transcript"], agent=agent, session=session_id, project=project, until=until)


def _scoped(
    session_id: str,
    event: HookEvent,
    role: str,
    cwd: str,
    config: Config,
    reached: Store,
) -> list[Text]:
    """Memories for a part of the code that is edited for the first time."""
    if not event["files"]:
        return []
    from session.inject import project_context

    files = event["files"]
    return _attempt(
        "project",
        reached,
        lambda: _texts(project_context.inject(session_id, role, config, files=files, cwd=cwd, reached=reached)),
    )


def _refreshed(
    current: SessionState, role: str, usage: ContextUsage, config: Config, reached: Store, active_at: int | None
) -> list[Text]:
    """What matters now, in a session that lasts, in the middle of a turn."""
    from session.inject import refresh

    percent = usage["percent"]

    def refreshed() -> list[Text]:
        if not refresh.decide(current, config, clock.now_ms(), percent=percent, active_at=active_at)["begun"]:
            return []  # by the state that was just written
        return _texts(
            refresh.refresh(current["sessionId"], role, config, percent=percent, active_at=active_at, reached=reached)
        )

    return _attempt("refresh", reached, refreshed)


def _timed(session_id: str, event: HookEvent, usage: ContextUsage | None, config: Config, reached: Store) -> None:
    """The timer of idle compaction, where that is switched on."""
    if event["kind"] in ("prompt", "turn", "end") and config.whole("compaction.idleTriggerMinutes"):
        from session.idle import timing

        _attempt("idle", reached, lambda: timing.follow(session_id, event, usage, config))


def _announced(agent: str, config: Config, reached: Store) -> list[Text]:
    """That a compaction starts, for the user, where that is switched on."""
    if not config.flag("compaction.notifyOnStart"):
        return []
    from session.compaction import notice

    return _attempt("notify", reached, lambda: notice.begin(agent, config))


def _attempt(step: str, reached: Store, part: Callable[[], list[Text] | None]) -> list[Text]:
    """A part that the others do not depend on: where it fails, they are done all the same."""
    try:
        return part() or []
    except Exception as error:
        code = error.code if isinstance(error, Failure) else type(error).__name__
        reached.faults.append({"step": step, "code": code, "message": str(error)})
        return []


def _known(session_id: str) -> SessionState | None:
    try:
        return state_file.peek(session_id)
    except Failure:  # what is damaged is set aside by the next that writes
        return None


def _usage(event: HookEvent, agent: str, config: Config) -> ContextUsage:
    """How full the context is: as the client tells it, else from its transcript."""
    tokens, window, percent = event["tokens"], event["window"], event["percent"]
    if percent is None and tokens is not None and window:
        percent = round(tokens * 100 / window, 2)
    if percent is not None or not event["transcript"] or registry.row(agent).extension:
        return {"tokens": tokens, "window": window, "percent": percent, "source": "usage"}
    from session import context_usage

    return context_usage.of_transcript(event["transcript"], agent, model=event["model"], config=config)


def _has_shrunk(before: SessionState, usage: ContextUsage) -> bool:
    tokens, known = usage["tokens"], before["contextTokens"]
    return tokens is not None and known is not None and usage["source"] == "usage" and 0 < tokens < SHRUNK * known


def _turn(event: HookEvent, agent: str, role: str, usage: ContextUsage) -> Turn:
    return checkpoint.turn_of(
        role=role,
        messages=event["messages"],
        files=event["files"],
        percent=usage["percent"],
        tokens=usage["tokens"],
        window=usage["window"],
        agent=agent,
        cwd=event["cwd"],
    )


def _flush(
    session_id: str,
    event: HookEvent,
    agent: str,
    role: str,
    usage: ContextUsage,
    config: Config,
    reached: Store,
    *,
    defer: bool,
) -> None:
    checkpoint.flush(session_id, _turn(event, agent, role, usage), config, reached, defer=defer)
    current = _known(session_id)
    if current is not None:
        from core import clock
        from session import daily_log

        daily_log.flush(current, clock.now_ms(), config=config)
        if defer:
            from session.inject import query_selection

            if not query_selection.begin(session_id):
                query_selection.gather(current, reached, config)


def _recovered(session_id: str, role: str, config: Config, reached: Store) -> list[Text]:
    from session.inject import recovery

    return _texts(recovery.recover(session_id, role, config, reached))


def _texts(result: Mapping[str, Any]) -> list[Text]:
    if not result["injected"]:
        return []
    return [{"customType": result["customType"], "content": result["content"]}]
