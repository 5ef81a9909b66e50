"""Compactions: how full a session's context is, and what we answer a client that asks before it compacts. Hot path.

It may be asked to cancel, to wait for a summary of ours, or to show a notice. The modules in this folder are the tools
behind `joelclaw compaction`; a hook loads none of them.

In pi and OpenCode our extension shows the notice. Gemini CLI shows it with the first hook after a compaction, which it
reports by no event. What PreCompact prints in Claude Code goes into the summariser's prompt (measured with 2.1.329), so
a process of its own runs `notify.command` there.
"""

from __future__ import annotations

import os

import clients
from clients import content
from clients.base import NOTICE
from core import TYPE_CHECKING
from core.store.sources import open_source
from session.record import IDLE_RUN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

    from clients.base import Client, HookEvent, Text
    from core.config import Config
    from core.store.sources import Source
    from session.session import ContextUsage, Session

MAX_BYTES = 4 * 1024 * 1024  # read of a transcript, from its end


def cancel(event: HookEvent, session: Session) -> list[Text]:
    """Cancel a second compaction if nothing was said since the first, and record that; [] for any other."""
    if not is_just_compacted(event, session.agent):
        return []
    from clients.extension import CANCEL

    reason = "nothing-since-compaction"
    about = {"reason": reason, "instructed": bool(event["instructions"])}
    name = session.state.compaction_event("compaction.cancelled")
    session.queue_event(session.event(name, {**session.state.compaction_metadata, **about}))
    notice = "Nothing was said since the last compaction: another compaction would only drop what it kept."
    return [{"customType": CANCEL, "content": reason}, {"customType": NOTICE, "content": notice}]


def is_just_compacted(event: HookEvent, agent: str) -> bool:
    """Whether the transcript ends in a compaction: no message follows it on the branch that ends with `leaf`.

    Entries of extensions and the texts that we hand back do not count. A cache that notes its expiry behind the
    compaction once let a client compact again at once, and lose all messages that it had kept.
    """
    client, wanted = clients.by_name(agent), event["leaf"]
    try:
        with open_source(event["transcript"]) as source:
            for _, line in lines_backward(source, MAX_BYTES):
                for head in client.entries(content.parsed(line) or {})[:1]:
                    if not wanted or head.id == wanted:
                        if head.kind in ("compaction", "prompt", "answer", "result", "shell") or not head.parent:
                            return head.kind == "compaction"
                        wanted = head.parent
    except (OSError, ValueError):
        pass
    return False


def offer_summary(event: HookEvent, session: Session) -> list[Text]:
    """How long (ms) the extension may wait for a summary of ours; [] if the client has to write the summary itself."""
    config = session.config
    if config.get_str("compaction.summary") != "joelclaw" or not clients.by_name(session.agent).takes_summary:
        return []
    has_model = bool(config.get_str("model.command").strip())
    if event["instructions"].strip() and not has_model:
        return []
    from clients.extension import SUMMARY

    extract_ms = 30_000  # for a summary that quotes; a model is asked twice if a turn is split
    model_ms = config.get_int("model.timeout_seconds") * 1000 * 2 if has_model else 0
    return [{"customType": SUMMARY, "content": str(extract_ms + model_ms)}]


def announce(agent: str, config: Config) -> list[Text]:
    """Announce a compaction, unless `idle run` started it. Returns the notice if the client shows it."""
    if not config.get_bool("compaction.notify_on_start") or os.environ.get(IDLE_RUN):
        return []
    if clients.by_name(agent).shows_notices:
        text = notice_text(config)
        return [{"customType": NOTICE, "content": text}] if text else []
    start_notify_command(config)
    return []


def notice_text(config: Config) -> str:
    """The notice on a line; "" if the setting is empty."""
    from core.quoting import clip, one_line

    return clip(one_line(config.get_str("compaction.notify_on_start_text")), 500)


def start_notify_command(config: Config) -> None:
    """Start a background process that runs `notify.command`, if it is set."""
    if not config.get_str("notify.command").strip():
        return
    from core import background, files

    folder = os.path.join(files.home(), "sessions", ".work", "notify")
    background.start(["background", "notice"], 15, folder)


def notify(config: Config) -> dict[str, Any]:
    """Run `notify.command` for at most 10 s and record an event. The notice replaces `{text}`, else it is its stdin."""
    from core import clock
    from core.command import run_command, split_command
    from otel import log
    from session.session import COMPONENT

    command, notice = config.get_str("notify.command"), notice_text(config)
    if not command.strip():
        return {"delivered": False, "reason": "no-command"}
    try:
        words = split_command(command, {"text": notice})
    except ValueError:  # a quotation mark is missing, so there is no such command
        words = [command]
    ended = run_command(words, 10, data=b"" if "{text}" in command else notice.encode() + b"\n")
    is_done = ended.status == 0
    now, name = clock.now_ms(), f"compaction.notify.{'completed' if is_done else 'failed'}"
    level, why = ("info", None) if is_done else ("warn", ended.explain())
    event = log.new_event(
        name, source="interactive", component=COMPONENT, level=level, success=is_done, error=why, now=now
    )
    log.store_spooled([event])
    return {"delivered": is_done, "reason": "" if is_done else ended.reason or "failed"}


# The context, from the end of a transcript. Only what came after the latest compaction counts: the usage of an answer
# from before it describes a context that no longer exists; taking it for the present context compacts a session twice,
# the second time to nothing.


def context_usage(path: str, agent: str, *, model: str = "", config: Config) -> ContextUsage:
    """How full the context is, by the newest usage or compaction in the last 4 MiB of a transcript, else estimated."""
    client = clients.by_name(agent)
    newest = _Newest()
    try:
        with open_source(path) as source:
            newest = _newest(source, client)
            if newest.tokens is None:
                newest.tokens, newest.source = _estimate(source, client, newest.boundary), "estimate"
    except (OSError, ValueError):
        newest.tokens, newest.source = None, "none"
    tokens, is_estimate = newest.tokens, newest.source == "estimate"
    window = newest.window or client.context_window((model, newest.model), 0 if is_estimate else tokens or 0, config)
    if tokens is not None and is_estimate:
        tokens = min(tokens, window)
    percent = round(tokens * 100 / window, 2) if tokens is not None else None
    return {"tokens": tokens, "window": window, "percent": percent, "source": newest.source}


def kept_text(path: str, agent: str) -> str:
    """What the last compaction left in the context word for word, if the client records its first kept entry."""
    client = clients.by_name(agent)
    texts: list[str] = []
    most = 8 * 1024 * 1024  # bytes: a context holds less
    with open_source(path) as source:
        lines = (client.entries(content.parsed(line) or {}) for _, line in lines_backward(source, most))
        compaction = next((entry for entries in lines for entry in entries if entry.kind == "compaction"), None)
        for entries in lines if compaction is not None and compaction.first_kept else ():
            texts += reversed(content.texts_in([entry.content for entry in entries if entry.kind != "system"]))
            if compaction is not None and entries and entries[0].id == compaction.first_kept:
                return "\n".join(reversed(texts))
    return ""


class _Newest:
    """What the end of a transcript says about the context."""

    tokens: int | None = None
    source: Literal["usage", "boundary", "estimate", "none"] = "none"
    window = 0
    model = ""
    boundary: int | None = None
    """Offset of the line of a compaction that does not say how large the context is after it."""


def _newest(source: Source, client: Client) -> _Newest:
    """The newest usage or compaction, and the window if the client writes it."""
    newest = _Newest()
    snapshot, written_at = "", None
    older = lines_backward(source, MAX_BYTES)
    for offset, line in older:
        if not any(mark in line for mark in client.context_marks):
            continue
        entries = client.entries(content.parsed(line) or {})  # a line may be half written
        newest.window = newest.window or max((entry.window for entry in entries), default=0)
        if entries and entries[0].kind == "history" and not snapshot:
            snapshot, written_at = entries[0].id, offset
        last = next((entry for entry in reversed(entries) if entry.tokens or entry.kind == "compaction"), None)
        if last is not None and newest.tokens is None and newest.boundary is None:
            if last.kind != "usage" and not last.tokens_after:
                newest.boundary = offset
            elif last.kind != "usage":
                newest.tokens, newest.source = last.tokens_after, "boundary"
            elif snapshot and not any(snapshot.encode() in line for _, line in older):
                # The history was compressed after this usage. If the session was only resumed, the snapshot is also
                # further up.
                newest.model, newest.boundary = last.model, written_at
            else:
                newest.tokens, newest.source, newest.model = last.tokens, "usage", last.model
        is_decided = newest.tokens is not None or newest.boundary is not None
        if is_decided and (newest.window or not client.has_window):
            return newest
    if newest.tokens is None and newest.boundary is None:
        newest.boundary = written_at
    return newest


def _estimate(source: Source, client: Client, boundary: int | None) -> int:
    """Estimated tokens since a compaction, with its summary; of everything if there was none. Four characters each."""
    count = 0
    seen: set[str] = set()
    for offset, line in lines_backward(source, MAX_BYTES):
        entries = client.entries(content.parsed(line) or {})
        identifier = entries[0].id if entries else ""
        if not (identifier and identifier in seen):  # else an earlier state of a message that was counted
            seen.add(identifier)
            count += content.characters([entry.content for entry in entries])
        if offset == boundary:
            break
    return -(-count // 4)


def lines_backward(source: Source, most: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a source with their offsets, the last first; only those that begin in its last `most` bytes."""
    at = source.size()
    lowest = max(0, at - most)
    block = 32 * 1024  # the newest usage is usually near the end
    tail = b""
    while at > lowest:
        start = max(lowest, at - block)
        text = source.read(at - start, start) + tail
        at, block = start, min(2 * block, 1024 * 1024)
        lines = text.split(b"\n")
        tail = lines[0]  # its beginning may be further up
        offset = at + len(text)
        for line in reversed(lines[1:]):
            offset -= len(line)
            if line:
                yield offset, line
            offset -= 1
    if tail and lowest == 0:
        yield 0, tail
