"""What changed in memory while a session went on, and where stands what a prompt names (ADR-0204, change 2).

A refresh comes where the context is half full, after a pause and after half an hour; never in a session's first
minutes. It tells of memories on what the session talks about that were written or changed meanwhile, and nothing of
what the agent knows. A prompt that names a file or a function gets where that stands, and what somebody noted about it.
"""

from __future__ import annotations

from core.names import names_in_order
from core.quoting import cost, enclose, one_line
from session.faults import fault_boundary
from session.inject.runner import Decision
from session.state import rules
from session.state.state_file import GATEWAY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Hit
    from session.inject.runner import Situation
    from session.records import SessionState, Text
    from session.step import Context

NAME = "refresh"
CUSTOM_TYPE = "context-refresh"
HEADING = "## Context Refresh"
STANDS, ABOUT, CHANGED = "**Where it stands:**", "**Noted about it:**", "**Changed in memory:**"
VAULT = "**In the vault:**"
NOT_DUE, NO_TOPIC = "not-due", "no-seed"
INTERVAL, IDLE, HALF, NAMED = "interval", "idle", "half-full", "named"
MAX_TOKENS = 350
_SHOWN, _ABOUT_SHOWN, _MOST_ASKED = 3, 2, 60
_MINUTE_MS = 60_000
_IDLE_MS = 10 * _MINUTE_MS  # a pause after which the user may be back with something else
_QUIET_MS = 5 * _MINUTE_MS


def due(state: SessionState, situation: Situation) -> Decision:
    """Where something may have changed, or the prompt of a person names something that was not told yet."""
    names, asked = _names(state, situation), _is_asked(state, situation)
    trigger = trigger_of(state, situation) or (NAMED if names or asked else "")
    if not trigger:
        return Decision(NOT_DUE, about={"trigger": trigger})
    from session.inject import topics

    query = ""
    if asked or (names and situation.context.store.names(names)):
        query = topics.query_of((), situation.message) or " ".join(names)
    if not query and trigger != NAMED:
        query = topics.query_of(state["messages"], situation.message)
    return Decision("" if query or names else NO_TOPIC, query=query, about={"trigger": trigger, "query": query})


def trigger_of(state: SessionState, situation: Situation) -> str:
    """What lets it be expected that something changed: HALF, IDLE, INTERVAL, or "" for nothing."""
    config, now = situation.context.config, situation.context.now
    message, percent, last = situation.message, situation.percent, state["lastRefreshAt"]
    minutes = config.get_float("refresh.minutes")
    is_rapid = rules.is_rapid(state, now) or (last is not None and 0 <= now - last < rules.COOLDOWN_MS)
    if is_rapid or not minutes:
        return ""
    if percent is not None and percent >= rules.HALF_PERCENT and not state["halfRefreshed"]:
        return HALF
    if not message or now - state["startedAt"] < _QUIET_MS:
        return ""
    before = situation.context.previous or state
    active_at = max(before["updatedAt"], before["lastMessageAt"] or 0)
    if now - active_at >= _IDLE_MS:
        return IDLE
    since = state["startedAt"] if last is None or last > now else last
    return INTERVAL if now - since > minutes * _MINUTE_MS else ""


def compose(state: SessionState, situation: Situation, decision: Decision, hits: Sequence[Hit]) -> Text | None:
    """Where what is named stands and what somebody noted about it; on other topics what changed in memory."""
    from session.inject.selection import fit, kept_by_somebody, names_shared, select

    context, trigger = situation.context, decision.about["trigger"]
    names = _names(state, situation)
    stands, told = _standing(state, situation, names) if names else ([], [])
    asked = _is_asked(state, situation)
    notes = _notes(state, situation) if asked else {}
    head = [HEADING, *([STANDS, *stands] if stands else []), *([VAULT, *notes.values()] if notes else [])]
    fresh = [hit for hit in kept_by_somebody(hits, state) if hit["id"] not in state["injectedMemories"]]
    about = {hit["id"]: found for hit in fresh if (found := names_shared(hit, names))}
    changed = set() if trigger == NAMED else _changed(context, [hit["id"] for hit in fresh], _since(state, situation))
    memories = select([hit for hit in fresh if asked or hit["id"] in about or hit["id"] in changed], state)
    title = CHANGED if changed else ABOUT
    most = _SHOWN if changed else _ABOUT_SHOWN
    room = MAX_TOKENS + cost("\n".join((*stands, *notes.values())))
    content, shown = fit(CUSTOM_TYPE, [*head, title], memories, mark="- [{category}] ", most=most, max_tokens=room)
    if not content and len(head) == 1:
        return None
    told += notes
    told += [name for memory in shown for name in about.get(memory["id"], ())]
    return {
        "content": content or enclose(CUSTOM_TYPE, head), "memories": shown, "customType": CUSTOM_TYPE,
        "event": "context.refresh.injected", "about": {}, "eventAbout": {"reason": trigger},
        "names": list(dict.fromkeys(told)),
    }  # fmt: skip


def apply(state: SessionState, situation: Situation, decision: Decision, text: Text | None) -> SessionState:
    """When it was looked at, with or without anything to tell; what a prompt names puts no refresh off."""
    trigger = decision.about["trigger"]
    if text is not None:
        state = {**state, "toldNames": [*state["toldNames"], *text.get("names", ())]}
    if trigger == NAMED:
        return state
    half = state["halfRefreshed"] or trigger == HALF
    return {**state, "lastRefreshAt": situation.context.now, "halfRefreshed": half}


def _names(state: SessionState, situation: Situation) -> list[str]:
    """The identifiers and file names that a person says and was not told of yet, as they come; none of URLs and
    switches."""
    if not situation.message or not situation.context.config.get_float("refresh.minutes"):
        return []
    words = [word for word in situation.message.split() if "://" not in word and not word.startswith("-")]
    found = [name for name, is_one in names_in_order(" ".join(words)) if is_one and name not in state["toldNames"]]
    if found:
        from session.inject import topics

        found = found if topics.said(situation.message) else []
    return found[:_MOST_ASKED]


def _changed(context: Context, identifiers: Sequence[str], since: int) -> set[str]:
    """Those of these memories that were written or changed since a time."""
    from core.store import document_rows

    return context.store.attempt("recall", lambda db: document_rows.changed(db, identifiers, since), set())


def _is_asked(state: SessionState, situation: Situation) -> bool:
    """Whether a person asks a gateway for something."""
    if state["role"] != GATEWAY or not situation.context.config.get_float("refresh.minutes"):
        return False
    from session.inject import topics

    return topics.is_topic(situation.message)


def _notes(state: SessionState, situation: Situation) -> dict[str, str]:
    """The notes that a prompt names by number or path, or that tell what it asks of decisions: a line each by name."""
    words = [word.strip("`'\"()[],;:?!") for word in situation.message.split()]
    paths = [word for word in words if word.endswith(".md") or "/Vault/" in word]
    if not (paths or any(word.lower().startswith(("adr", "decision")) for word in words)):
        return {}
    from contextlib import suppress

    from core.errors import Failure
    from memory.knowledge import vault

    found: dict[str, str] = {}
    for reference in paths or [situation.message]:
        with suppress(Failure):  # there is no vault, or nothing in it
            for (path, *_), note in vault.find(vault.root(), reference):
                name = path.rpartition("/")[2]
                heading = next((line for line in note["content"].splitlines() if line.startswith("# ")), name)
                if name not in state["toldNames"]:
                    found[name] = f"- {one_line(heading)}: {one_line(path)}"
    return dict(list(found.items())[:_SHOWN])


def _standing(state: SessionState, situation: Situation, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Where the names stand, as lines, and which of them do."""
    from core.project import folder_of
    from session.inject import named

    context, project = situation.context, situation.project_of(state)
    with fault_boundary(context.faults, "places"):
        db, _ = context.store.reading()
        if db is not None and project:
            folder = folder_of(context.directory(state, situation.cwd))
            found = named.places(db, names, session=state["sessionId"], project=project, folder=folder)
            asked = frozenset(names)
            files = (place["file"].rpartition("/")[2] for place in found)
            return named.lines(found), [name for name in (*(place["name"] for place in found), *files) if name in asked]
    return [], []


def _since(state: SessionState, situation: Situation) -> int:
    """When memory was last looked at, else when the session began."""
    last = state["lastRefreshAt"]
    return state["startedAt"] if last is None or last > situation.context.now else int(last)
