"""What a piece of a transcript says a session did: prompts, tool calls, names, plan, compactions. Hot path.

Collected and redacted while nothing is locked, stored in the transaction of the piece. What is stored already changes
nothing: a transcript may be read again. A name is kept with the line in which it stands first in its session.
"""

from __future__ import annotations

from math import exp

from core import TYPE_CHECKING, ids
from core.names import is_file, names_in_order
from core.project import relative, worktree_of
from core.redaction import prints_secret
from core.shell_command import place_in, place_of, tells, told
from core.store import calls, places_and_names, sessions
from memory.archive.places import SessionPlaces, shown_lines
from memory.archive.plain_text import both_ends, file_path, one_line, passage_of, plain, start

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from clients.event import Hunk, Item, Outcome, Plan, Tool
    from core.records import Call, Name, Session

TOOL_CHARS = 100
_PROCESS_CHARS = 40
_PLAIN_CHARS = 30  # an identifier so short is no secret
FILE_CHARS = 1000
COMMAND_CHARS = 1000
READ_CHARS = 400_000  # of an input or an output: what is longer is read at its head and its tail
STEP_CHARS = 200
MOST_STEPS = 60
_DELETED = "deleted"
RUNNING, STOPPED = "running", "stopped"
"""What came of a call that goes on in the background, and was not seen to end; of one that was stopped there."""
_LAST, _RUNS, _ASKS, _PRINTS = "last", "runs ", "asks ", "prints "  # names in the carry; a key follows the two
_MOST_CARRIED = 60


class CallDraft:
    """A tool call in the making, or what came of one that was stored before; its texts are redacted.

    The paths of `folders` are in no name; so many prompts of the user stood before it in its piece.
    """

    def __init__(self, key: str, folders: Sequence[str], prompt: int = 0, at: int | None = None) -> None:
        self.key = key
        self.folders = folders
        self.prompt = prompt
        self.at = at
        self.is_late = True  # until it is known what is called
        self.tool = self.file = self.command = self.given = self.returned = self.outcome = self.error = ""
        self.given_names: list[tuple[str, bool]] = []
        self.returned_names: list[tuple[str, bool]] = []
        self.first = 0
        self.called = ("", "")  # the command that runs and the path that is read, where what they print may be a secret
        self.hunks: list[Hunk] = []

    def begin(self, tool: Tool) -> None:
        """Note what is called."""
        self.is_late = False
        name = tool["name"]
        is_plain = name.isidentifier() and len(name) <= _PLAIN_CHARS
        self.tool = (name if is_plain else start(name, TOOL_CHARS)) or "tool"
        if tool["files"] or is_file(tool["target"]):
            self.file = file_path(tool["target"], FILE_CHARS)
        self.first = tool.get("first", 0)
        self.command = start(tool["command"].strip(), COMMAND_CHARS)
        if prints_secret(tool["command"], tool["target"]):
            self.called = (tool["command"][:READ_CHARS], tool["target"])
        self.given = both_ends(tool["given"], READ_CHARS)[0]
        self.given_names = self._names(self.given)
        self.key = self.key or _key(f"{self.tool}\0{self.at}\0{self.given}")

    def finish(self, text: str, outcome: str, process: str) -> bool:
        """Note what it returned, what came of it and, if it goes on, what its process is called; whether it is cut."""
        self.returned, is_cut = both_ends(text, READ_CHARS, *self.called, whole=False)
        self.returned_names = self._names(self.returned)
        self.come_to(outcome, self.returned)
        self.error = start(process, _PROCESS_CHARS) if process.isalnum() else self.error
        return is_cut

    def come_to(self, outcome: str, text: str) -> None:
        """Note what came of it, and of a failure why, by a text without secrets."""
        self.outcome, self.error = outcome, ""
        if outcome == "failed":
            from memory.archive.error_cause import error_line

            self.error = error_line(text.replace(f"{self.folders[0]}/", "") if self.folders else text)
        elif outcome == "ok" and (self.is_late or self.command) and ("fail" in text.lower() or "# " in text):
            from memory.archive.error_cause import verdict_line

            self.error = verdict_line(text)

    def edit(self, hunks: Sequence[Hunk]) -> None:
        """Note what it changed in files."""
        self.hunks = [
            {**hunk, "file": file_path(hunk["file"], FILE_CHARS), "text": plain(hunk["text"])} for hunk in hunks
        ]

    def _names(self, text: str) -> list[tuple[str, bool]]:
        for folder in self.folders:
            text = text.replace(folder, "")
        return names_in_order(text)


class SessionWork:
    """Collects items in order, then stores what they say.

    `carry` is what the items before left, by name: the key of the last call, of the calls whose process goes on, and
    the processes that calls ask after; it is changed.
    """

    def __init__(self, carry: dict[str, str], folder: str) -> None:
        self._latest = self._ended = 0
        self.is_cut = False  # an output
        self._spoke = True  # the agent, after its last call; the end of a turn before that is no answer
        self._events: list[tuple[CallDraft | Plan | str, int]] = []
        self._pending: dict[str, CallDraft] = {}
        self._folders = [folder] if len(folder) > 1 else []  # and those above that have a name which would count
        while len(folder) > 1:
            folder = folder.rpartition("/")[0]
            if folder and names_in_order(folder.rpartition("/")[2]):
                self._folders.append(folder)
        self._carry = carry
        self._before = carry.get(_LAST, "")

    def add(self, item: Item, prompts: int) -> None:
        """Add an item; `prompts` of the user stood before it in this piece."""
        if item["kind"] in ("said", "outcome"):
            self._spoke = item["kind"] == "said" and item["role"] == "assistant" and not item["tools"]
        if item["kind"] == "said":
            self._latest = max(self._latest, item["at"] or 0)
            for tool in item["tools"]:
                self._call(tool, prompts, item["at"])
        elif item["kind"] == "outcome":
            known = self._known(_key(item["call"]))
            if not known.outcome:
                self._finish(known, item)
        elif item["kind"] == "edited":
            self._known(_key(item["call"])).edit(item["hunks"])
        elif item["kind"] == "ended":
            self._end(_key(item["process"]), item["text"], item["failed"])
        elif item["kind"] == "turn_ended":
            if self._spoke or not item.get("stopped"):
                self._ended = item["at"] or 0
        elif item["kind"] == "plan":
            self._events.append((item, prompts))
        elif item["kind"] in ("compaction", "summary"):
            text = start(item["text"], sessions.SUMMARY_CHARS) if item["kind"] == "summary" else ""
            self._events.append((text, item["at"] or 0))

    def _call(self, tool: Tool, prompts: int, at: int | None) -> None:
        draft = CallDraft(_key(tool["call"]), self._folders, prompts, at)
        draft.begin(tool)
        known = self._pending.get(draft.key)
        if known is not None and not known.is_late:  # else what came of it before the call itself is that of another
            return
        self._pending[draft.key] = draft
        self._events.append((draft, prompts))
        self._carry[_LAST] = draft.key
        if any(draft.called):
            self._keep(_PRINTS + draft.key, f"{draft.command}\n{file_path(tool['target'], FILE_CHARS)}")
        if tool.get("process"):
            self._keep(_ASKS + draft.key, _key(tool["process"]))

    def _known(self, key: str) -> CallDraft:
        """The draft of a call, or one for what came of a call that was stored before."""
        known = self._pending.get(key)
        if known is None:
            known = self._pending[key] = CallDraft(key, self._folders)
            self._events.append((known, 0))
        return known

    def _finish(self, call: CallDraft, outcome: Outcome) -> None:
        """Note what a call returned. What one returns that asks after a process came of the call that began it."""
        process, asked = _key(outcome.get("process", "")), self._carry.pop(_ASKS + call.key, "")
        failed = outcome["failed"]
        printed = self._carry.pop(_PRINTS + call.key, "") or (self._carry.get(_PRINTS + asked, "") if asked else "")
        if printed and (call.is_late or asked):
            call.called = (printed.rpartition("\n")[0], printed.rpartition("\n")[2])
        if asked and _RUNS + asked in self._carry:
            if not process:
                self._end(asked, outcome["text"], failed)
            failed = False
        process, called = ("", "") if asked else (process, outcome.get("process", ""))
        self.is_cut |= call.finish(outcome["text"], RUNNING if process else "failed" if failed else "ok", called)
        if process:
            self._keep(_RUNS + process, call.key)
            if printed:
                self._keep(_PRINTS + process, printed)

    def _end(self, process: str, text: str, failed: bool | None) -> None:
        """Note what came of a process in the background, which the call that began it does not return; of one that
        was stopped nothing is known."""
        if key := self._carry.get(_RUNS + process, ""):
            if text or not failed:  # else what it returned may still be asked for
                del self._carry[_RUNS + process]
            outcome = STOPPED if failed is None else "failed" if failed else "ok"
            call = self._known(key)
            call.come_to(outcome, both_ends(text, READ_CHARS, *call.called, whole=False)[0] if failed else "")

    def _keep(self, name: str, value: str) -> None:
        self._carry[name] = value
        if len(self._carry) > _MOST_CARRIED:
            del self._carry[next(one for one in self._carry if one != _LAST)]

    def store(self, db: apsw.Connection, about: Session, *, prompts: int, anew: bool, now: int) -> int:
        """Store all of it, inside the caller's transaction; returns how many calls are new. The piece holds so many
        `prompts` of the user; `anew`: it is the first of its transcript."""
        session = about["id"]
        if not (self._events or prompts or self._ended) or sessions.is_forgotten(db, session):
            return 0
        known = sessions.by_id(db, session)
        if known is not None:
            known["project"] = about["project"] or known["project"]
            known["folder"] = about["folder"] or known["folder"]
            about = known
        if anew:
            about["prompts"], about["plan"] = 0, []
            about.pop("plan_at", None)
        before, number = about["calls"], 0
        if self._before and (last := calls.by_key(db, session, self._before)) is not None:
            number = last["number"]
        places = SessionPlaces(db, session, about["folder"])
        names = _Names(db, about, [value for value, _ in self._events if isinstance(value, CallDraft)])
        for value, extra in self._events:
            if isinstance(value, CallDraft):
                stored = _store_call(db, about, names, places, value)
                number = number if value.is_late else stored
            elif isinstance(value, str):
                sessions.save_compaction(db, session, number, extra, value)
            elif (call := self._pending.get(_key(value["call"]))) is None or call.outcome != "failed":
                about["plan"] = _planned(about["plan"], value)
                about["plan_at"] = [number, about["prompts"] + extra]
        places_and_names.save_names(db, session, names.changed.values())
        places.save()
        about["prompts"] += prompts
        about["ended_at"] = max(about.get("ended_at", 0), self._ended)
        # a transcript may be read long after it was written
        about["updated_at"] = max(about["updated_at"], self._latest) or now
        sessions.save(db, about)
        return about["calls"] - before


def _key(call: str) -> str:
    """A call's id as it is kept: it is as random as a secret, and of any length."""
    return ids.fingerprint(call)[:16] if call else ""


def _store_call(db: apsw.Connection, about: Session, names: _Names, places: SessionPlaces, draft: CallDraft) -> int:
    """Store a new call, or the outcome of one that is stored without; returns its number, 0 for an unknown one."""
    call = calls.by_key(db, about["id"], draft.key)
    if call is None and draft.is_late:
        return 0
    if call is not None and call["outcome"] == calls.FORGOTTEN:
        return call["number"]
    is_new = call is None or _is_news(call, draft)
    file, command = (call["file"], call["command"]) if draft.is_late and call else (draft.file, draft.command)
    number = call["number"] if call else about["calls"] + 1
    if draft.hunks and draft.outcome != "failed":
        edited = draft.hunks[0]["file"] or file
        if edited.startswith("/"):
            about["worktree"] = worktree_of(edited, about["folder"])
        places.note_edit(number, [{**hunk, "file": hunk["file"] or file} for hunk in draft.hunks])
    if draft.returned and is_new:
        places.note_shown(number, shown_lines(draft.returned, file=file, first=draft.first, command=command))
    if call is not None and not is_new:
        return call["number"]
    folder = about["folder"]
    if call is None:
        number, file = about["calls"] + 1, relative(draft.file, folder)
        place = relative(place_of(file, draft.command), folder)
        passage = names.use(draft.given, draft.given_names, number, place, written=True)
        call = {
            "session": about["id"], "number": number, "key": draft.key, "prompt": about["prompts"] + draft.prompt,
            "at": draft.at, "tool": draft.tool, "file": file, "command": draft.command, "outcome": "",
            "error": "", "passage": passage,
        }  # fmt: skip
        about["calls"] = number
    else:
        place = relative(place_of(call["file"], call["command"]), folder)
    failed = bool(draft.outcome) and told(call["command"], draft.outcome) in ("failed", "")  # "": that of a pipe
    if draft.outcome == "ok" and draft.error:  # a red run behind a pipe, as its output tells
        draft.error = "" if tells(call["command"]) else draft.error
    returned = names.use(draft.returned, draft.returned_names, call["number"], place, failed=failed)
    passage = "\n".join(part for part in (call["passage"], returned) if part)
    calls.save(db, {**call, "outcome": draft.outcome, "error": draft.error, "passage": passage})
    return call["number"]


def _is_news(call: Call, draft: CallDraft) -> bool:
    """Whether more is known of a call than is stored."""
    if call["outcome"] == "failed":
        return draft.outcome == "failed" and bool(draft.error) and not call["error"]
    return draft.outcome not in ("", call["outcome"]) and call["outcome"] in ("", RUNNING)


class _Names:
    """The names that a piece uses, as the session knows them so far."""

    def __init__(self, db: apsw.Connection, about: Session, drafts: Iterable[CallDraft]) -> None:
        self._folder = about["folder"]
        self.changed: dict[str, Name] = {}
        wanted = {name for draft in drafts for name, _ in (*draft.given_names, *draft.returned_names)}
        self._known = places_and_names.known_names(db, about["id"], wanted)

    def use(
        self, text: str, named: Sequence[tuple[str, bool]], number: int, place: str, *, written: bool = False,
        failed: bool = False,
    ) -> str:  # fmt: skip
        """Count a use of each name of a call's output, or of what was `written`, its input; returns the lines in which
        a name stands that the session had not."""
        weight = places_and_names.INPUT_WEIGHT if written else places_and_names.OUTPUT_WEIGHT
        new: list[tuple[int, str]] = []
        at, is_in_file = 0, is_file(place)
        for name, is_identifier in named:
            known = self._known.get(name)
            if known is None:
                at = max(at, text.find(name, at))  # they come in their order
                new.append((at, name))
                where = (relative(place_in(text, at), self._folder) or place) if is_identifier else ""
                self._known[name] = self.changed[name] = {
                    "name": name, "first": number, "last": number, "calls": 1,
                    "weight": weight if is_identifier else 0.0, "place": where, "written": number if written else 0,
                }  # fmt: skip
            elif is_identifier:  # another is kept for the line in which it stood first
                faded = known["weight"] * exp((known["last"] - number) / places_and_names.FADING_CALLS)
                known["calls"] += known["last"] != number
                known["last"] = max(number, known["last"])
                known["weight"] = round(faded + weight, 4)
                if written:
                    known["written"] = max(number, known["written"])
                if is_in_file or not is_file(known["place"]):  # a file tells more than a program
                    known["place"] = place
                self.changed[name] = known
        return passage_of(text, new, failed=failed) if new or failed else ""


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
