"""What we answer a client that asks before it compacts: to cancel, to wait for a summary of ours, or to show a notice.

Hot path. The modules in this folder are the tools behind `joelclaw compaction`; a hook loads none of them.

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
from session.reactions import Reaction
from session.record import IDLE_RUN
from session.transcript import MAX_BYTES, lines_backward

if TYPE_CHECKING:
    from typing import Any

    import apsw

    from clients.base import HookEvent, Text
    from core.config import Config
    from session.session import Session


def cancel(event: HookEvent, session: Session) -> list[Text]:
    """Cancel a second compaction if nothing was said since the first, and record only that; [] for any other."""
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


def react(event: HookEvent, session: Session) -> Reaction:
    """Offer the client a summary of ours, and announce a compaction unless `idle run` started it."""
    client, config = clients.by_name(session.agent), session.config
    texts: list[Text] = []
    has_model = bool(config.get_str("model.command").strip())
    is_able = has_model or not event["instructions"].strip()
    if config.get_str("compaction.summary") == "joelclaw" and client.takes_summary and is_able:
        from clients.extension import SUMMARY

        extract_ms = 30_000  # for a summary that quotes; a model is asked twice if a turn is split
        model_ms = config.get_int("model.timeout_seconds") * 1000 * 2 if has_model else 0
        texts.append({"customType": SUMMARY, "content": str(extract_ms + model_ms)})
    is_silent = event["kind"] != "before_compaction" or os.environ.get(IDLE_RUN)
    if config.get_bool("compaction.notify_on_start") and not is_silent:
        if not client.shows_notices:
            start_notify_command(config)
        elif text := notice_text(config):
            texts.append({"customType": NOTICE, "content": text})
    return Reaction(texts=texts)


def store_summary(event: HookEvent, session: Session) -> Reaction:
    """Store the summary that the client puts in place of the messages before a compaction that is under way."""
    if session.is_excluded(event["cwd"]) or session.may_quote_excluded(event["transcript"]):
        return Reaction()

    def write(db: apsw.Connection) -> None:
        from core.store import sessions, sqlite
        from memory.archive.texts import start

        text = start(event["summary"], sessions.SUMMARY_CHARS)
        with sqlite.transaction(db):
            if not sessions.is_forgotten(db, session.id):
                archived = sessions.by_id(db, session.id)
                calls = archived["calls"] if archived else 0
                sessions.save_compaction(db, session.id, calls, session.now, text)

    session.store.write("summary", write, None)
    return Reaction()


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
