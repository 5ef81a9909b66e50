"""The sessions that have a state, an archive or hooks: `session list`, `session show`, finding by id.

`session show` goes turn by turn. A moment is something that happened in a turn: its time, kind and text, and if known
its duration, tokens and, for an injection, the text as the agent got it and the memories in it with their outcome
(echo, fizzle or open).
"""

import shlex
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import apsw

from core import clock
from core import project as projects
from core.config import Config
from core.errors import Failure
from core.quoting import DELIMITER, clip
from core.records import Session
from core.store import calls as stored_calls
from core.store import documents, forgotten
from core.store import events as stored_events
from core.store import sessions as stored_sessions
from memory.gate import is_own
from session.known_states import session_of, state_times
from session.record import zone_of
from session.requests import last_request, opening
from session.state import SessionState, has_state, read_state

NOT_FOUND = "SESSION_NOT_FOUND"

Row = dict[str, Any]
Moment = tuple[int, Row]
"""The time in ms since the epoch, and the printed row."""

MOMENTS = {
    "compaction.before": ("compaction", "at {percent}{tokens}"),
    "compaction.extract.warm": ("zone", "warm from {percent} on"),
    "compaction.extract.hot": ("zone", "hot, at {percent}"),
    "compaction.checkpoint": ("checkpoint", "the task"),
    "compaction.inject.skipped": ("skipped", "no note: {reason}"),
    "memory.recall.completed": ("recall", "{returned} found: “{query}”"),
    "task.recalled": ("recall", "{returned} found: “{query}”"),
    "memory.echo": ("feedback", "used, the agent said {termsMatched} of its words: {memory}"),
    "memory.fizzle": ("feedback", "ignored: {memory}"),
}
"""Events that are moments: the kind, and the text with values of the event. Faults are moments too."""


@dataclass(slots=True)
class KnownSession:
    """A session with its state, archive and hooks, as far as it has them. `problem`: why its state cannot be read."""

    id: str
    updated_at: int
    """When it was last active (ms). Until its state is read, it may be less recent than that."""
    archived: Session | None = None
    hooks: dict[str, Any] | None = None
    state: SessionState | None = None
    problem: str = ""
    is_read: bool = False

    def read(self) -> "KnownSession":
        """Read its state, if it has a state file."""
        if not self.is_read:
            self.is_read = True
            try:
                self.state = read_state(self.id)
            except Failure as failure:
                self.problem = failure.message
            times = [self.state.updated_at] if self.state else []
            times += [self.archived["updated_at"]] if self.archived else []
            self.updated_at = max(times, default=self.hooks["last"] if self.hooks else 0)
        return self

    @property
    def client(self) -> str:
        """The client that it belongs to, "" if unknown."""
        client = (self.archived["client"] if self.archived else "") or (self.hooks["client"] if self.hooks else "")
        return client or (state.agent if (state := self.read().state) else "")

    @property
    def project(self) -> str:
        """The project that it works on, "" if unknown."""
        if self.archived and self.archived["project"]:
            return self.archived["project"]
        state = self.read().state
        return projects.name_of(state.cwd) if state and state.cwd else ""


def known_sessions(db: apsw.Connection) -> list[KnownSession]:
    """All known sessions. No state is read."""
    sessions = {
        session["id"]: KnownSession(session["id"], session["updated_at"], session)
        for session in stored_sessions.latest(db, 100_000)
    }
    for path, at in state_times().items():
        name = session_of(path)
        session = sessions.setdefault(name, KnownSession(name, at))
        session.updated_at = max(session.updated_at, at)
    for name in stored_events.sessions_with_hooks(db):
        session = sessions.setdefault(name, KnownSession(name, 0))
        if session.archived is None:
            session.hooks = stored_events.hook_call_extent(db, name)
            session.updated_at = max(session.updated_at, session.hooks["last"] if session.hooks else 0)
    for name in stored_sessions.forgotten_ids(db):  # and it went on since
        sessions.pop(name, None)
    return list(sessions.values())


def with_id(db: apsw.Connection, identifier: str) -> KnownSession:
    """The session with exactly this id. No state is read."""
    archived, hooks = stored_sessions.by_id(db, identifier), stored_events.hook_call_extent(db, identifier)
    return KnownSession(identifier, 0, archived, hooks)


def of(db: apsw.Connection, *, project: str = "", client: str = "", since: int = 0) -> list[KnownSession]:
    """The sessions of a project and a client that were active since a time (ms); "" and 0 mean any."""
    return [
        session
        for session in known_sessions(db)
        if session.updated_at >= since
        and (not since or session.read().updated_at >= since)
        and (not client or session.client == client)
        and (not project or projects.same(project, session.project))
    ]


def newest_first(sessions: Iterable[KnownSession]) -> Iterator[KnownSession]:
    """The sessions, the most recently active first. Only the states of those that are asked for are read."""
    return (session.read() for session in sorted(sessions, key=lambda session: (-session.updated_at, session.id)))


def rows(
    db: apsw.Connection, config: Config, *, limit: int, project: str = "", client: str = "", since: int = 0
) -> tuple[list[dict[str, Any]], int]:
    """The first `limit` sessions of the user, and how many there are; see `of`."""
    sessions = _of_user(db, of(db, project=project, client=client, since=since))
    first = islice(newest_first(sessions), limit)
    return [summary_row(db, session, config) for session in first], len(sessions)


def summary_row(db: apsw.Connection, session: KnownSession, config: Config) -> dict[str, Any]:
    """A session as a list prints it."""
    state, archived = session.state, session.archived
    turns, compactions, started, task = 0, 0, session.hooks["first"] if session.hooks else 0, ""
    if state is not None:
        turns, compactions, started = state.counts["userMessages"], state.compaction_count, state.started_at
        task = state.messages[-1]["text"] if state.messages else ""
    if archived is not None:
        turns = max(turns, archived["prompts"])
        compactions = max(compactions, len(stored_sessions.compactions(db, session.id)))
        first = stored_sessions.episode_times(db, session.id)[1]
        started = min(started or first, first or started)
        prompts = [] if task else [prompt["text"] for prompt in stored_sessions.timed_prompts(db, session.id, 12)]
        task = task or opening(last_request(prompts), 200)
    percent, parent = state.percent if state else None, archived.get("parent", "") if archived else ""
    return {
        "sessionId": session.id,
        "title": stored_sessions.title(db, session.id) if archived else "",
        "client": session.client,
        "project": session.project,
        "updatedAt": clock.iso(session.updated_at or None),
        "turns": turns,
        "contextPercent": percent,
        "task": clip(" ".join(task.split()), 200) or session.problem,
        "zone": zone_of(percent, config),
        "startedAt": clock.iso(started or None),
        "toolCalls": archived["calls"] if archived else 0,
        "compactions": compactions,
        "kind": archived.get("kind", "main") if archived else "main",
        "parent": parent if not stored_sessions.is_forgotten(db, parent) else "",
    }


def resolve(db: apsw.Connection, given: str) -> str:
    """The id of the session that an id, or at least four characters of its beginning, means.

    Raises Failure: SESSION_NOT_FOUND, also for a session that was forgotten, and SESSION_AMBIGUOUS.
    """
    if is_known(db, given):
        return given
    names = (*map(session_of, state_times()), *stored_events.sessions_with_hooks(db))
    live = (name for name in names if name.startswith(given) and not stored_sessions.is_forgotten(db, name))
    if found := stored_sessions.only_one(given, (*live, stored_sessions.whole_id(db, given))):
        return found
    fix = "`joelclaw session list` lists those that are known"
    if name := forgotten.whole_id(db, given):
        fix = f"bring it back: joelclaw memory forget --undo {shlex.quote(name)}"
        raise Failure(NOT_FOUND, f"the session {name} was forgotten", fix)
    raise Failure(NOT_FOUND, f"there is no session {given[:80]!r}", fix)


def is_known(db: apsw.Connection, session: str) -> bool:
    """Whether anything is known about a session with exactly this id, and it was not forgotten."""
    if stored_sessions.is_forgotten(db, session):
        return False
    if has_state(session) or stored_events.hook_call_extent(db, session) is not None:
        return True
    return stored_sessions.is_archived(db, session)


def _of_user(db: apsw.Connection, sessions: Iterable[KnownSession]) -> list[KnownSession]:
    """The sessions that no other session began."""
    others = stored_sessions.of_agents(db)
    return [session for session in sessions if session.id not in others]


def newest(db: apsw.Connection, project: str) -> tuple[str, str]:
    """The most recently active session of this "project" or, if it has none among the last 200, the "last" of all."""
    last = ""
    for session in islice(newest_first(_of_user(db, known_sessions(db))), 200 if project else 1):
        if project and projects.same(project, session.project):
            return session.id, "project"
        last = last or session.id
    if last:
        return last, "last"
    fix = "install the hooks with `joelclaw install --all`, or archive past sessions: `joelclaw memory archive --all`"
    raise Failure(NOT_FOUND, "no session is known yet", fix)


def report(db: apsw.Connection, session: str, config: Config) -> Row:
    """Everything that is known about a session."""
    known = with_id(db, session).read()
    archived, state = known.archived, known.state
    hooks, events = stored_events.hook_calls(db, session), stored_events.of_session(db, session)
    injections = stored_events.injections(db, session)
    prompts = [
        prompt
        for prompt in stored_sessions.timed_prompts(db, session)
        if prompt["text"].strip() and not is_own(prompt["text"])
    ]
    calls = stored_calls.times(db, session)
    outcomes = _memory_outcomes(events, injections)
    texts = documents.beginnings(db, [*outcomes], 160)
    moments = [_injection_moment(injection, outcomes, texts) for injection in injections]
    moments += _event_moments(events, {injection["id"] for injection in injections}, texts)
    moments += [
        _moment(hook["at"], "error", f"hook {hook['event']} {hook['outcome']}: {hook['error']}", ms=hook["ms"])
        for hook in hooks
        if hook["outcome"] != "ok"
    ]
    turns = _turns(hooks, prompts, calls, moments)
    for turn in turns:
        turn["zone"] = zone_of(turn["contextPercent"], config)
    uses = [outcome for outcome in outcomes.values() if outcome]
    return {
        **summary_row(db, known, config),
        "role": state.role if state else "",
        "folder": (archived["folder"] if archived else "") or (state.cwd if state else ""),
        "folders": archived.get("folders", []) if archived else [],
        "turnCount": sum(turn["number"] > 0 for turn in turns),
        "failedCalls": sum(failed for _, _, failed in calls),
        "recalls": sum(event["action"] in ("memory.recall.completed", "task.recalled") for event in events),
        "injections": {
            "count": len(injections),
            "tokens": sum(injection["tokens"] for injection in injections),
            "chars": sum(len(injection["text"]) for injection in injections),
        },
        "memories": {"injected": len(uses), **{name: uses.count(name) for name in ("echo", "fizzle", "open")}},
        "hooks": _hook_figures(hooks),
        "problem": known.problem,
        "turns": turns,
    }


def _hook_figures(hooks: Sequence[Row]) -> Row:
    """The durations (ms) and outcomes of hooks; `late`: the empty answer was given at the deadline."""
    counts = {name: sum(hook["outcome"] == name for hook in hooks) for name in ("ok", "degraded", "failed", "late")}
    times = sorted(hook["ms"] for hook in hooks if hook["ms"] is not None)
    median = round(times[(len(times) - 1) // 2], 1) if times else None
    return {"count": len(hooks), "totalMs": round(sum(times), 1), "p50": median, **counts}


def _memory_outcomes(events: Sequence[Row], injections: Sequence[Row]) -> dict[str, str]:
    """By memory, "echo" if it was used after any injection, else "fizzle" or "open"; "" if it was not injected here."""
    outcomes = dict.fromkeys((memory for injection in injections for memory in injection["memories"]), "open")
    for event in events:
        memory = event["metadata"].get("memoryId")
        if event["action"] in ("memory.echo", "memory.fizzle") and isinstance(memory, str):
            known = outcomes.setdefault(memory, "")
            outcomes[memory] = event["action"].rpartition(".")[2] if known in ("open", "fizzle") else known
    return outcomes


def _event_moments(events: Sequence[Row], injected: Container[str], texts: Mapping[str, str]) -> list[Moment]:
    """The moments of a session's events, without those of injections and hooks."""
    moments = []
    for event in events:
        about, action = event["metadata"], event["action"].removeprefix("gateway.")
        is_shown = event["id"] not in injected and event["component"] != "hook" and about.get("returned") != 0
        is_fault = event["level"] in ("warn", "error", "fatal")
        kind, form = MOMENTS.get(action, ("error", "{action}: {error}") if is_fault else ("", ""))
        if is_shown and kind:
            memory, tokens = str(about.get("memoryId", "")), about.get("contextTokens")
            percent = about.get("percent", about.get("contextPercent"))
            values = defaultdict(str, about, action=event["action"], error=event["error"])
            values["percent"] = f"{percent:.0f} %" if isinstance(percent, (int, float)) else "a context of unknown size"
            values["tokens"] = f", {tokens:,} tokens" if isinstance(tokens, int) else ""
            values["memory"] = texts.get(memory) or memory
            has_time = kind in ("recall", "error")
            moments.append(_moment(event["at"], kind, form.format_map(values), ms=event["ms"] if has_time else None))
    return moments


def _injection_moment(injection: Row, outcomes: Mapping[str, str], texts: Mapping[str, str]) -> Moment:
    frame = (f"<{DELIMITER}", f"</{DELIMITER}")
    lines = [line for line in injection["text"].split("\n") if not line.startswith(frame)]
    heading = next((line for line in lines if line.strip()), "").lstrip("# ")
    details = {
        "customType": injection["kind"],
        "tokens": injection["tokens"],
        "content": "\n".join(lines),
        "memories": [
            {"id": memory, "text": texts.get(memory, ""), "outcome": outcomes[memory]}
            for memory in injection["memories"]
        ],
    }
    return _moment(injection["at"], "injection", heading, ms=injection["ms"], **details)


def _moment(at: int, kind: str, text: str, *, ms: float | None = None, **details: Any) -> Moment:
    row = {"at": clock.iso(at or None), "kind": kind, "text": " ".join(text.split())}
    return at, {**row, **({} if ms is None else {"ms": ms}), **details}


def _turns(
    hooks: Sequence[Row], prompts: Sequence[Row], calls: Sequence[tuple[int, int, bool]], moments: Sequence[Moment]
) -> list[Row]:
    """The turns, oldest first: a prompt and what followed it. Turn 0 is what came before the first prompt."""
    starts = [(0, ""), *_prompt_times(hooks, prompts)]
    times = [at for at, _ in starts]
    turns: list[Row] = [{"hooks": [], "calls": [], "moments": []} for _ in starts]

    def turn_at(at: int) -> Row:
        return turns[max(0, bisect_right(times, at) - 1)]

    for hook in hooks:
        turn_at(_start_of(hook))["hooks"].append(hook)
    for at, prompt, failed in calls:
        (turn_at(at) if at else turns[min(prompt, len(turns) - 1)])["calls"].append(failed)
    order = {"compaction": 2, "skipped": 3, "injection": 3}  # of moments with the same time
    for at, moment in sorted(moments, key=lambda moment: (moment[0], order.get(moment[1]["kind"], 1))):
        turn_at(at)["moments"].append(moment)
    ends = [*times[1:], max([hook["at"] for hook in hooks[-1:]] + [at for at, _, _ in calls[-1:]] + times[-1:])]
    rows = []
    for number, ((at, text), end, turn) in enumerate(zip(starts, ends, turns, strict=True)):
        percents = [hook["percent"] for hook in turn["hooks"] if hook["percent"] is not None]
        at = at or (_start_of(turn["hooks"][0]) if turn["hooks"] else 0)
        row = {
            "number": number,
            "at": clock.iso(at or None),
            "seconds": round(max(0, end - at) / 1000, 1) if at else None,
            "prompt": text,
            "contextPercent": round(percents[-1], 1) if percents else None,
            "toolCalls": len(turn["calls"]),
            "failedCalls": sum(turn["calls"]),
            "hooks": len(turn["hooks"]),
            "hookMs": round(sum(hook["ms"] or 0 for hook in turn["hooks"]), 1),
            "moments": turn["moments"],
        }
        rows += [row] if number or any(turn.values()) else []
    return rows


def _prompt_times(hooks: Sequence[Row], prompts: Sequence[Row]) -> list[tuple[int, str]]:
    """The time and the text of each prompt. A hook's prompt and an archived prompt within `apart_ms` are the same."""
    texts: dict[int, str] = dict.fromkeys((_start_of(hook) for hook in hooks if hook["kind"] == "prompt"), "")
    apart_ms, characters = 30_000, 240
    for prompt in prompts:
        close = [at for at, text in texts.items() if abs(at - prompt["at"]) <= apart_ms and not text]
        at = min(close, key=lambda at: abs(at - prompt["at"]), default=prompt["at"])
        texts[at] = texts.get(at) or clip(" ".join(prompt["text"][: 20 * characters].split()), characters)
    return sorted(texts.items())


def _start_of(hook: Row) -> int:
    """When a hook began, in ms since the epoch. Its event is made at its end."""
    return int(hook["at"]) - int(hook["ms"] or 0)
