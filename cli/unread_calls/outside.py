"""Commands of the mirrored CLI that are not this one's to do, by name: each is refused with what to do instead.

The list is `docs/mirrored.md`'s. A command of our own goes before a name here.
"""

from __future__ import annotations

from cli import commands
from core.errors import Failure, usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CODE = "NOT_MIRRORED"
FAMILIES = {
    "the event bus and its workers": (
        "send runs run event events functions capabilities recover logs log loop watch inngest schema refresh deploy"
        " heal queue jobs restate workload workloads webhook agent runbooks diagnose"
    ),
    "the gateway and its channels": (
        "gateway tui messages notify mail email call x subscribe sleep approvals review discover"
    ),
    "the operator's machines and services": "nas satellite fleet secrets langfuse o11y pds models machine",
    "publishing and documents": "docs content briefing summary retro skills observer observations",
}
"""What it belongs to → first words."""
PARTS = {
    "memory review": "the review of proposed memories by a model",
    "memory health": "the review of proposed memories by a model",
    "knowledge clear-failed": "agent loops",
    "sessions chunks": "the index of chunks on a central machine",
    "sessions signals": "the mining of a user's turns for moods",
    "sessions friction": "the mining of a user's turns for moods",
    "vault adr audit": "the upkeep of decision records",
    "vault adr refs": "the upkeep of decision records",
    "vault adr prompt": "the upkeep of decision records",
    "vault adr rank": "the upkeep of decision records",
    "vault adr next": "the upkeep of decision records",
}
"""Commands of groups that are here, and what they belong to."""
FLAGS = {
    "recall": (
        "--workstream --allowed-privacy --reflection-limit --observation-limit --curated-limit --request-file".split()
    ),
}
"""Options of the original's later recall, which asks three stores of its own."""
INSTEAD = {
    "event": "joelclaw otel list",
    "events": "joelclaw otel list",
    "runs": "joelclaw otel list",
    "run": "joelclaw otel list",
    "logs": "joelclaw otel list --level error,fatal",
    "log": "joelclaw otel emit --help",
    "send": "joelclaw memory write --help",
    "docs": "joelclaw knowledge search --help",
    "sleep": "joelclaw off",
    "diagnose": "joelclaw status",
    "gateway": "joelclaw status",
    "inngest": "joelclaw status",
    "capabilities": "joelclaw --help",
    "observations": "joelclaw memory recent",
    "memory review": "joelclaw memory recent",
    "memory health": "joelclaw memory scorecard",
    "sessions chunks": "joelclaw sessions search --help",
    "sessions signals": "joelclaw sessions search --help",
    "sessions friction": "joelclaw sessions search --help",
    "vault adr audit": "joelclaw vault adr collisions",
    "vault adr refs": "joelclaw vault search --help",
    "vault adr prompt": "joelclaw vault adr locate --help",
    "vault adr rank": "joelclaw vault adr list",
    "vault adr next": "joelclaw vault adr list",
}


def failure(words: Sequence[str]) -> Failure | None:
    """Why a call is not done here, None for one that is not the mirrored CLI's.

    The `NOT_MIRRORED` failure ends with exit 2; its fix names what is here instead.
    """
    name = name_of(words)
    if not name:
        return None
    if name in FLAGS:
        flag = next(word for word in words if word.partition("=")[0] in FLAGS[name])
        return usage(
            CODE,
            f"{flag.partition('=')[0]} is of the original's later recall, which asks three stores of its own",
            f"it is outside of what this joelclaw does: leave the option out; see joelclaw {name} --help",
        )
    of = PARTS.get(name) or next(family for family, names in FAMILIES.items() if name in names.split())
    return usage(
        CODE,
        f"`joelclaw {name}` belongs to {of}",
        "it is outside of what this joelclaw does: leave the call out, or make it with the original;"
        f" what is here instead: {INSTEAD.get(name, 'joelclaw --help')}",
    )


def name_of(words: Sequence[str]) -> str:
    """The name in these tables that the words begin with, "" for none."""
    for length in (3, 2):
        if " ".join(words[:length]) in PARTS:
            return " ".join(words[:length])
    first = words[0] if words else ""
    if first in FLAGS and any(word.partition("=")[0] in FLAGS[first] for word in words[1:]):
        return first
    if commands.is_taken(first):
        return ""
    return first if any(first in names.split() for names in FAMILIES.values()) else ""
