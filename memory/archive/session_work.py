"""What a piece of a transcript says a session did: prompts, tool calls, names, plan, compactions. Hot path.

Collected and redacted while nothing is locked, stored in the transaction of the piece. What is stored already changes
nothing: a transcript may be read again.
"""

from __future__ import annotations

from math import exp

from core.names import is_file, names_in_order
from core.project import relative
from core.shell_command import place_in, place_of
from core.store.sessions import call_rows, name_rows, session_rows
from memory.archive.call_draft import CallDraft, key_of, late, passage_of
from memory.archive.plain_text import one_line, start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from clients.event import Item, Outcome, Plan
    from core.records import Call, Name, Session

STEP_CHARS = 200
MOST_STEPS = 60
_DELETED = "deleted"
_LAST, _RUNS, _ASKS = "last", "runs ", "asks "  # names in the carry; a key follows the two
_MOST_CARRIED = 60


class SessionWork:
    """Collects items in order, then stores what they say.

    Args:
        carry: what the items before left, by name: the key of the last call, of the calls whose process goes on, and
            the processes that calls ask after; it is changed.
        folder: of the project.
    """

    __slots__ = ("_before", "_carry", "_events", "_folders", "_late", "_latest", "_pending")

    def __init__(self, carry: dict[str, str], folder: str) -> None:
        self._latest = 0
        self._events: list[tuple[str, CallDraft | Plan | str, int]] = []
        self._pending: dict[str, CallDraft] = {}
        self._late: set[str] = set()
        self._folders = _with_those_above(folder)
        self._carry = carry
        self._before = carry.get(_LAST, "")

    def add(self, item: Item, prompts: int) -> None:
        """Add an item; `prompts` of the user stood before it in this piece."""
        if item["kind"] == "said":
            self._latest = max(self._latest, item["at"] or 0)
            for tool in item["tools"]:
                draft = CallDraft(tool, prompts, item["at"], self._folders)
                if draft.key not in self._pending or draft.key in self._late:
                    self._late.discard(draft.key)  # what came of it before the call itself is that of another one
                    self._pending[draft.key] = draft
                    self._events.append(("call", draft, prompts))
                    self._carry[_LAST] = draft.key
                    if tool.get("process"):
                        self._keep(_ASKS + draft.key, key_of(tool["process"]))
        elif item["kind"] == "outcome":
            known = self._known(key_of(item["call"]), prompts)
            if not known.outcome:
                self._finish(known, item, prompts)
        elif item["kind"] == "ended":
            self._end(key_of(item["process"]), item["text"], item["failed"], prompts)
        elif item["kind"] == "plan":
            self._events.append((item["kind"], item, prompts))
        elif item["kind"] in ("compaction", "summary"):
            text = start(item["text"], name_rows.SUMMARY_CHARS) if item["kind"] == "summary" else ""
            self._events.append((item["kind"], text, item["at"] or 0))

    def _known(self, key: str, prompts: int) -> CallDraft:
        """The draft of a call, or one for what came of a call that was stored before."""
        known = self._pending.get(key)
        if known is None:
            known = self._pending[key] = late(key, self._folders)
            self._late.add(key)
            self._events.append(("late", known, prompts))
        return known

    def _finish(self, call: CallDraft, outcome: Outcome, prompts: int) -> None:
        """Note what a call returned. What one returns that asks after a process came of the call that began it."""
        process, asked = key_of(outcome.get("process", "")), self._carry.pop(_ASKS + call.key, "")
        failed = outcome["failed"]
        if asked and _RUNS + asked in self._carry:
            if not process:
                self._end(asked, outcome["text"], failed, prompts)
            process, failed = "", False
        call.finish(outcome["text"], "" if process else "failed" if failed else "ok")
        if process:
            self._keep(_RUNS + process, call.key)

    def _end(self, process: str, text: str, failed: bool, prompts: int) -> None:
        """Note what came of a process in the background."""
        key = self._carry.pop(_RUNS + process, "")
        if key:
            self._known(key, prompts).end(text, failed)

    def _keep(self, name: str, value: str) -> None:
        self._carry[name] = value
        if len(self._carry) > _MOST_CARRIED:
            del self._carry[next(one for one in self._carry if one != _LAST)]

    def store(self, db: apsw.Connection, about: Session, *, prompts: int, anew: bool, now: int) -> int:
        """Store all of it, inside the caller's transaction; returns how many calls are new.

        Args:
            about: the session, as far as it is known from elsewhere.
            prompts: how many of the user's the piece holds.
            anew: the piece is the first of its transcript.
        """
        session = about["id"]
        if (not self._events and not prompts) or session_rows.is_forgotten(db, session):
            return 0
        known = session_rows.session(db, session)
        if known is not None:
            about = {
                **known, "project": about["project"] or known["project"], "folder": about["folder"] or known["folder"],
            }  # fmt: skip
        if anew:
            about["prompts"], about["plan"] = 0, []
            about.pop("plan_at", None)
        before = about["calls"]
        last = call_rows.by_key(db, session, self._before) if self._before else None
        number = last["number"] if last else 0
        drafts = [value for _, value, _ in self._events if isinstance(value, CallDraft)]
        names = _Names(db, about, drafts)
        for kind, value, extra in self._events:
            if isinstance(value, CallDraft):
                stored = _store_call(db, about, names, value, is_late=kind == "late")
                number = number if kind == "late" else stored
            elif isinstance(value, str):
                name_rows.save_compaction(db, session, number, extra, value)
            else:
                about["plan"] = _planned(about["plan"], value)
                about["plan_at"] = [number, about["prompts"] + extra]
        names.save()
        about["prompts"] += prompts
        # a transcript may be read long after it was written
        about["updated_at"] = max(about["updated_at"], self._latest) or now
        session_rows.save_session(db, about)
        return about["calls"] - before


def _store_call(db: apsw.Connection, about: Session, names: _Names, draft: CallDraft, *, is_late: bool) -> int:
    """Store a new call, or the outcome of one that is stored without; returns its number, 0 for an unknown one."""
    stored = call_rows.by_key(db, about["id"], draft.key)
    if stored is None and is_late:
        return 0
    if stored is not None and (stored["outcome"] or not draft.outcome):
        return stored["number"]
    folder = about["folder"]
    file, command = (stored["file"], stored["command"]) if stored else (relative(draft.file, folder), draft.command)
    number = stored["number"] if stored else about["calls"] + 1
    place = relative(place_of(file, command), folder)
    given = stored["passage"] if stored else names.use(draft.given, draft.given_names, number, place, written=True)
    failed = draft.outcome == "failed"
    returned = names.use(draft.returned, draft.returned_names, number, place, failed=failed)
    passage = "\n".join(part for part in (given, returned) if part)
    if stored is not None:
        call: Call = {**stored, "outcome": draft.outcome, "error": draft.error, "passage": passage}
    else:
        call = {
            "session": about["id"], "number": number, "key": draft.key, "prompt": about["prompts"] + draft.prompt,
            "at": draft.at, "tool": draft.tool, "file": file, "command": command, "outcome": draft.outcome,
            "error": draft.error, "passage": passage,
        }  # fmt: skip
    call_rows.save(db, call)
    about["calls"] = max(about["calls"], number)
    return number


class _Names:
    """The names that a piece uses, as the session knows them so far."""

    __slots__ = ("_about", "_changed", "_db", "_known")

    def __init__(self, db: apsw.Connection, about: Session, drafts: Iterable[CallDraft]) -> None:
        self._db = db
        self._about = about
        self._changed: dict[str, Name] = {}
        wanted = {name for draft in drafts for name, _ in (*draft.given_names, *draft.returned_names)}
        self._known = name_rows.known_names(db, about["id"], wanted)

    def use(
        self, text: str, named: Sequence[tuple[str, bool]], number: int, place: str, *, written: bool = False,
        failed: bool = False,
    ) -> str:  # fmt: skip
        """Count a use of each name of a text; returns the lines in which a name stands that the session had not.

        Args:
            written: it is the input of a call, not its output.
        """
        weight = name_rows.INPUT_WEIGHT if written else name_rows.OUTPUT_WEIGHT
        new: list[tuple[int, str]] = []
        at = 0
        for name, is_identifier in named:
            worth = weight if is_identifier else 0.0
            known = self._known.get(name)
            if known is None:
                at = max(at, text.find(name, at))  # they come in their order
                new.append((at, name))
                where = (relative(place_in(text, at), self._about["folder"]) or place) if is_identifier else ""
                self._known[name] = self._changed[name] = {
                    "name": name, "first": number, "last": number, "calls": 1, "weight": worth,
                    "place": where, "written": number if written else 0,
                }  # fmt: skip
                continue
            if not is_identifier:  # it is kept for the line in which it stood first
                continue
            faded = known["weight"] * exp((known["last"] - number) / name_rows.FADING_CALLS)
            known["calls"] += known["last"] != number
            known["last"] = max(number, known["last"])
            known["weight"] = round(faded + worth, 4)
            if written:
                known["written"] = max(number, known["written"])
            if is_file(place) or not is_file(known["place"]):  # a file tells more than a program
                known["place"] = place
            self._changed[name] = known
        return passage_of(text, new, failed=failed) if new or failed else ""

    def save(self) -> None:
        """Write back what changed."""
        name_rows.save_names(self._db, self._about["id"], self._changed.values())


def _with_those_above(folder: str) -> list[str]:
    """A folder and those above it that have a name which would count, the longest first."""
    found = [folder] if len(folder) > 1 else []
    while len(folder) > 1:
        folder = folder.rpartition("/")[0]
        if folder and names_in_order(folder.rpartition("/")[2]):
            found.append(folder)
    return found


def _planned(before: list[list[str]], change: Plan) -> list[list[str]]:
    """The plan after a change: rows of id, step, status."""
    steps = [
        [step["id"], one_line(step["text"], STEP_CHARS), one_line(step["status"], STEP_CHARS)]
        for step in change["steps"]
    ]
    if change["whole"]:
        return steps[:MOST_STEPS]
    after = [list(row) for row in before]
    for identifier, text, status in steps:
        if not identifier:
            after.append([str(1 + max((int(row[0]) for row in after if row[0].isdigit()), default=0)), text, status])
        for row in after:
            if row[0] == identifier:
                row[1:] = [text or row[1], status or row[2]]
    return [row for row in after if row[2] != _DELETED][-MOST_STEPS:]
