"""What a client is told that asks before it compacts: to leave it out, or to take a summary of ours. Hot path.

A compaction with nothing said since the last one drops what that one kept and adds nothing: the double compaction of
pi. It is left out whoever asked for it, since pi itself refuses a `/compact`, with instructions or without, behind
which nothing came; only a text of an extension makes it forget that.
"""

from __future__ import annotations

from clients import registry
from session import session_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clients.event import HookEvent, Text
    from core.config import Config
    from session.context import Context

NOTHING_SINCE = "nothing-since-compaction"
ACTION = "compaction.cancelled"
_SAID = "Nothing was said since the last compaction: another one would only drop what that one kept."
_EXTRACT_MS = 30_000
_MODEL_CALLS = 2
"""A split turn has two summaries."""


def cancelled(event: HookEvent, context: Context) -> list[Text]:
    """What the extension is told where the compaction is to be left out, with an event; [] where it is not."""
    if event["said"] != 0 or not registry.row(context.agent).takes_summary:
        return []
    from clients.extension_hooks import CANCEL, NOTICE
    from session.state import schema

    state = context.previous or schema.blank(context.session_id, context.role or "interactive", context.now)
    about = {
        **session_event.compaction_count(state),
        "reason": NOTHING_SINCE,
        "instructed": bool(event["instructions"]),
    }
    context.note([session_event.of_state(ACTION, state, about, context.now)])
    return [{"customType": CANCEL, "content": NOTHING_SINCE}, {"customType": NOTICE, "content": _SAID}]


def summary(event: HookEvent, context: Context) -> list[Text]:
    """What the extension is told where the summary is to be ours: how long it may wait for it, in ms.

    The client's own is made where the user gave instructions and no model of ours could follow them.
    """
    config = context.config
    if config.text("compaction.summary") != "joelclaw" or not registry.row(context.agent).takes_summary:
        return []
    if event["instructions"].strip() and not config.text("model.command").strip():
        return []
    from clients.extension_hooks import SUMMARY

    return [{"customType": SUMMARY, "content": str(_longest_ms(config))}]


def _longest_ms(config: Config) -> int:
    asked = config.whole("model.timeout_seconds") * 1000 * _MODEL_CALLS if config.text("model.command").strip() else 0
    return _EXTRACT_MS + asked
