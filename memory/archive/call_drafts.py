"""The tool calls, names, plan and compactions in a piece of a transcript, collected and then stored. Hot path.

`SessionCalls` collects the entries of a piece as `CallDraft`s, whose texts are redacted, and stores them in the
transaction of the piece. Reading a transcript again changes nothing. A name is stored with the line in which its
session first had it.
"""

from __future__ import annotations

from clients.content import given_text
from clients.entries import Entry, Hunk, Step
from core import TYPE_CHECKING, words
from core.names import is_file, names_in_order
from core.project import relative, worktree_of
from core.redaction import prints_secret
from core.shell_command import has_reliable_status, place_in, place_of, reliable_outcome
from core.store import calls as stored_calls
from core.store import sessions
from memory.archive.seen_places import SessionPlaces, shown_lines
from memory.archive.texts import both_ends, file_path, is_dense, is_error_line, one_line, passage_of, plain, start

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from core.records import Call, Name, Session

MAX_COMMAND_CHARS = 1000
MAX_READ_CHARS = 400_000  # of an input or output; if it is longer, its head and its tail are read
RUNNING = "running"  # outcome of a call whose process goes on in the background


class CallDraft:
    """A tool call before it is stored, or news about a stored call. Its texts are redacted."""

    def __init__(self, key: str, folders: Sequence[str], prompt: int = 0, at: int | None = None) -> None:
        self.key = key
        self.folders = folders  # paths that hold no names
        self.prompt = prompt  # prompts before it in its piece
        self.at = at
        self.project = ""
        self.is_begun = False  # this piece has the call itself, not only its result
        self.tool = ""
        self.file = ""  # that it works on
        self.command = ""
        self.given = ""  # its input
        self.returned = ""  # its output
        self.outcome = ""  # ok, failed, running, stopped; "" if unknown
        self.error = ""  # why it failed; of a running call, its process
        self.given_names: list[tuple[str, bool]] = []
        self.returned_names: list[tuple[str, bool]] = []
        self.first_line = 0
        self.printing = ("", "")  # the command that runs and the path that is read, if they may print a secret
        self.hunks: list[Hunk] = []

    def begin(self, call: Entry) -> None:
        """Note what is called."""
        self.is_begun = True
        is_plain = call.tool.isidentifier() and len(call.tool) <= 30  # which is no secret
        self.tool = (call.tool if is_plain else start(call.tool, 100)) or "tool"
        target = call.target
        if call.files or is_file(target):
            self.file = file_path(target)
        self.first_line = call.first_line
        self.command = start(call.command.strip(), MAX_COMMAND_CHARS)
        if prints_secret(call.command, target):
            self.printing = (call.command[:MAX_READ_CHARS], target)
        self.given = both_ends(given_text(call.given), MAX_READ_CHARS)
        self.given_names = self._names(self.given)
        self.key = self.key or call_key(f"{self.tool}\0{self.at}\0{self.given}")

    def finish(self, text: str, outcome: str, process: str) -> None:
        """Note what it returned and the process that goes on."""
        self.returned = both_ends(text, MAX_READ_CHARS, *self.printing)
        self.returned_names = self._names(self.returned)
        self.set_outcome(outcome, self.returned)
        self.error = start(process, 100) if process.isalnum() else self.error

    def set_outcome(self, outcome: str, text: str) -> None:
        """Note the outcome, and for a failure the reason, from a redacted text."""
        self.outcome, self.error = outcome, ""
        may_report = outcome == "ok" and (not self.is_begun or self.command)
        if outcome == "failed" or (may_report and ("fail" in text.lower() or "# " in text)):
            from memory.archive import error_cause

            within = text.replace(f"{self.folders[0]}/", "") if self.folders else text
            self.error = error_cause.verdict_line(text) if may_report else error_cause.error_line(within)

    def edit(self, hunks: Sequence[Hunk]) -> None:
        """Note what it changed in files."""
        for hunk in hunks:
            hunk.file = file_path(hunk.file)
            if len(hunk.text) > 16_000 and is_dense(hunk.text):
                hunk.text = hunk.signs = ""  # to redact it takes too long
            hunk.text = plain(hunk.text)
        self.hunks = list(hunks)

    def _names(self, text: str) -> list[tuple[str, bool]]:
        for folder in self.folders:
            text = text.replace(folder, "")
        return names_in_order(text)


class SessionCalls:
    """Collects the entries of a piece in order, then stores what they say.

    | what ends a call | how the call is known | method |
    |---|---|---|
    | its result | by its id | `_finish` |
    | the result of the script (Codex) that made it and perhaps others | `parts` | `_finish_script` |
    | the end of a command that such a script ran | `parts`: its fingerprint | `_finish_part` |
    | the end of its background process | `runs` | `_finish_process` |
    | the result of another call, which asked for the output of that process | `asks` | `_finish_asking` |

    Args:
        is_copy: a fork copied them.
        work: what the calls of earlier pieces wait for, which is changed.

    | `work` | of | value |
    |---|---|---|
    | last | the session | the key of its last call |
    | script | the session | the key of its last script |
    | parts | a script without a result | the kinds of its calls, see `_kind_of` |
    | runs | a background process | the key of the call that began it |
    | asks | a call | the background process whose output it asks for |
    | prints | a call or process | command and path, if its output may hold a secret |
    """

    def __init__(self, work: dict[str, str], folder: str, *, is_copy: bool = False) -> None:
        self._work = work
        self._is_copy = is_copy
        self.project = ""  # of the entries that are added
        self._last_call_before = self.last_call()
        self._last_spoke_at = 0  # ms
        self._turn_ended_at = 0  # ms
        self._has_answered = True  # after its last call; the end of a turn without an answer is none
        self._events: list[tuple[CallDraft | Entry, int]] = []  # with the prompts before each
        self._drafts: dict[str, CallDraft] = {}
        self._folders = [folder] if len(folder) > 1 else []  # and parents that would count as a name
        while len(folder) > 1:
            folder = folder.rpartition("/")[0]
            if folder and names_in_order(folder.rpartition("/")[2]):
                self._folders.append(folder)

    def last_call(self) -> str:
        """The key of the last call; "" if there is none."""
        return self._work.get("last", "")

    def add(self, entry: Entry, prompts: int) -> None:
        """Add an entry; `prompts` is the number of prompts before it in this piece."""
        kind = entry.kind
        if kind == "call" or (kind in ("prompt", "answer") and entry.text):
            self._has_answered = kind == "answer"
            self._last_spoke_at = max(self._last_spoke_at, entry.at or 0)
        if kind == "call":
            self._begin(entry, prompts)
        elif kind == "result":
            self._add_result(entry)
        elif kind == "shell":
            self._add_shell(entry, prompts)
        elif kind == "edit":
            self._edited(call_key(entry.call)).edit(entry.hunks)
        elif kind == "process_end":
            self._finish_process(call_key(entry.process), entry.text, entry.failed)
            if entry.command:
                self._finish_part(entry)
        elif kind == "turn_end" and (self._has_answered or not entry.is_stop):
            self._turn_ended_at = entry.at or 0
        elif kind == "plan":
            steps = [Step(step.id, one_line(step.text, 200), one_line(step.status, 200)) for step in entry.steps]
            self._events.append((Entry("plan", call=entry.call, whole=entry.whole, steps=steps), prompts))
        elif kind == "compaction" or (kind == "summary" and entry.text):
            self._events.append((Entry(kind, entry.at, text=start(entry.text, sessions.SUMMARY_CHARS)), prompts))

    def _add_shell(self, shell: Entry, prompts: int) -> None:
        """Add a command that the user ran, or what it printed; the agent's turn does not change by it."""
        if shell.command:
            self._begin(shell, prompts)
        if shell.content is not None:
            result = Entry("result", text=shell.content, failed=shell.failed)
            self._finish(self._draft(call_key(shell.call)), result)

    def _edited(self, key: str) -> CallDraft:
        """The draft of the call that made an edit. Codex does not say which patch of a script it was."""
        patches = [] if key in self._drafts else [part for part in self._parts("p") if not part.hunks]
        return patches[0] if patches else self._draft(key)

    def _add_result(self, result: Entry) -> None:
        key = call_key(result.call)
        if result.unrun:
            self._draft(key).outcome = "stopped"
            return
        self._has_answered = False
        if self._work.get(f"parts {key}"):
            self._finish_script(key, result)
        elif not (draft := self._draft(key)).outcome:
            if result.results:  # of a script without calls
                result.failed = bool(result.failed)
            self._finish(draft, result)

    def _finish_script(self, script: str, result: Entry) -> None:
        """Give each call of a script its share of the result."""
        from clients.codex_script import shares

        kinds = self._work[f"parts {script}"].split()
        found = shares(result, [kind not in ("p", "-") for kind in kinds])
        # in reverse, since a script that goes on is known by its first call
        for number, share in reversed([*enumerate(found, 1)]):
            draft, kind = self._draft(part_key(script, number)), kinds[number - 1]
            if share is None or draft.outcome not in ("", RUNNING):
                continue
            if kind == "-" and f"asks {draft.key}" not in self._work and not result.process:
                share.failed = bool(result.failed) and share.failed
                if share.process:  # the program to which it wrote
                    self._work[f"asks {draft.key}"] = call_key(share.process)
            elif share.failed is None and not any(map(is_error_line, share.text.splitlines())):
                share.failed = False
            self._finish(draft, share)
        if not result.process:
            self._work.pop(f"parts {script}", None)

    def _parts(self, kind: str) -> list[CallDraft]:
        """The calls of the latest script that are of a kind and may still go on."""
        script = self._work.get("script", "")
        kinds = enumerate(self._work.get(f"parts {script}", "").split(), 1)
        drafts = [self._draft(part_key(script, number)) for number, found in kinds if found == kind]
        return [draft for draft in drafts if draft.outcome in ("", RUNNING)]

    def _finish_part(self, end: Entry) -> None:
        """Note the end of a command that a script ran."""
        drafts = self._parts(words.fingerprint(end.command)[:8]) or self._parts("?")
        for draft in drafts[:1]:
            draft.command = draft.command or start(end.command, MAX_COMMAND_CHARS)
            self._finish(draft, Entry("result", text=end.text, failed=end.failed))

    def _begin(self, call: Entry, prompts: int) -> None:
        key = call_key(call.call)
        draft = CallDraft(part_key(key, call.part), self._folders, prompts, call.at)
        draft.project = self.project
        draft.begin(call)
        known = self._drafts.get(draft.key)
        if known is not None and known.is_begun:  # a result in front of its call belongs to another call
            return
        self._drafts[draft.key] = draft
        self._events.append((draft, prompts))
        self._work["last"] = draft.key
        if call.part:
            self._work["script"] = key
            self._work[f"parts {key}"] = f"{self._work.get(f'parts {key}', '')} {_kind_of(call)}"
        if any(draft.printing):
            self._work[f"prints {draft.key}"] = f"{draft.command}\n{file_path(call.target)}"
        if call.process:
            self._work[f"asks {draft.key}"] = call_key(call.process)

    def _draft(self, key: str) -> CallDraft:
        """The draft of a call; a new draft if the call is stored already."""
        if key not in self._drafts:
            self._drafts[key] = CallDraft(key, self._folders)
            self._events.append((self._drafts[key], 0))
        return self._drafts[key]

    def _finish(self, draft: CallDraft, result: Entry) -> None:
        """Note the result of a call."""
        asked = self._work.pop(f"asks {draft.key}", "")
        printed = self._work.pop(f"prints {draft.key}", "") or self._work.get(f"prints {asked}", "")
        if printed and (not draft.is_begun or asked):
            command, _, path = printed.rpartition("\n")
            draft.printing = (command, path)
        if asked:
            self._finish_asking(draft, asked, result)
            return
        process = call_key(result.process)
        ended = "failed" if result.failed else "" if result.failed is None else "ok"
        draft.finish(result.text, RUNNING if process else ended, result.process)
        if process:
            self._work[f"runs {process}"] = draft.key
            if printed:
                self._work[f"prints {process}"] = printed

    def _finish_asking(self, draft: CallDraft, process: str, result: Entry) -> None:
        """Note the result of a call that asked for the output of a process. A failure is that of the process."""
        text, failed = result.text, bool(result.failed)
        if begun := self._work.get(f"runs {process}"):
            if not result.process and self._work.get(f"parts {begun}"):
                del self._work[f"runs {process}"]
                self._finish_script(begun, result)
                text = ""
            elif not result.process:
                self._finish_process(process, text, failed)
            failed = False
        draft.finish(text, "failed" if failed else "ok", "")

    def _finish_process(self, process: str, text: str, failed: bool | None) -> None:
        """Note the end of a background process in the call that began it; `failed` is None if it was stopped."""
        if begun := self._work.get(f"runs {process}"):
            if text or not failed:  # else its output may still be asked for
                del self._work[f"runs {process}"]
            draft = self._draft(begun)
            reason = both_ends(text, MAX_READ_CHARS, *draft.printing) if failed else ""
            draft.set_outcome("stopped" if failed is None else "failed" if failed else "ok", reason)

    def store(self, db: apsw.Connection, session: Session, *, prompts: int, is_first: bool, now: int) -> int:
        """Store all of it, inside the caller's transaction; returns the number of new calls.

        Args:
            session: its record, which is changed and stored.
            prompts: new prompts in this piece.
            is_first: the piece is the first of its transcript.
            now: ms since the epoch, for what has no time.
        """
        identifier = session["id"]
        if not (self._events or prompts or self._turn_ended_at or session.get("parent")):
            return 0
        prompts = 0 if self._is_copy else prompts
        if is_first:
            session["prompts"], session["plan"] = 0, []
            session.pop("plan_at", None)
        last = stored_calls.by_key(db, identifier, self._last_call_before) if self._last_call_before else None
        before, number = session["calls"], last["number"] if last else 0
        places = SessionPlaces(db, identifier, session["folder"])
        names = _Names(db, session, [event for event, _ in self._events if isinstance(event, CallDraft)])
        for event, prompts_before in self._events:
            event.at = event.at or self._last_spoke_at or now
            if isinstance(event, CallDraft):
                stored = _store_call(db, session, names, places, event)
                number = stored if event.is_begun else number
            elif event.kind == "plan":
                draft = self._drafts.get(call_key(event.call))
                if not self._is_copy and (draft is None or draft.outcome != "failed"):
                    session["plan"] = _changed_plan(session["plan"], event)
                    session["plan_at"] = [number, session["prompts"] + prompts_before]
            else:
                sessions.save_compaction(db, identifier, number, event.at, event.text)
        stored_calls.save_names(db, identifier, names.changed.values())
        places.save()
        session["prompts"] += prompts
        session["ended_at"] = max(session.get("ended_at", 0), self._turn_ended_at)
        # a transcript may be read long after it was written
        session["updated_at"] = max(session["updated_at"], self._last_spoke_at) or now
        sessions.save(db, session)
        return session["calls"] - before


def call_key(call: str) -> str:
    """A call's id in the store: a hash, since an id may have any length and look like a secret."""
    return words.fingerprint(call)[:16] if call else ""


def part_key(script: str, number: int) -> str:
    """The key of a script's call with this number, from 1; the first has the key of the script."""
    return script if number < 2 else call_key(f"{script}#{number}")


def _kind_of(call: Entry) -> str:
    """The kind of a script's call: its command's fingerprint, `?` if that is unknown, `p` for a patch, else `-`."""
    if call.command:
        return words.fingerprint(call.command)[:8]
    return "p" if call.files else "?" if "exec" in call.tool or "shell" in call.tool else "-"


def _store_call(db: apsw.Connection, session: Session, names: _Names, places: SessionPlaces, draft: CallDraft) -> int:
    """Store a new call, or complete a stored call; returns its number, 0 if the call is unknown."""
    call = stored_calls.by_key(db, session["id"], draft.key)
    if call is None and not draft.is_begun:
        return 0
    if call is not None and call["outcome"] == stored_calls.FORGOTTEN:
        return call["number"]
    is_news = call is None or _is_news(call, draft)
    call = call or _new_call(session, names, draft)
    _note_places(places, session, draft, call, with_output=is_news)
    if is_news:
        stored_calls.save(db, _completed(call, names, draft, session["folder"]))
    return call["number"]


def _new_call(session: Session, names: _Names, draft: CallDraft) -> Call:
    """The next call of a session, with the names in its input."""
    session["calls"] = number = session["calls"] + 1
    file = relative(draft.file, session["folder"])
    place = relative(place_of(file, draft.command), session["folder"])
    return {
        "session": session["id"], "number": number, "key": draft.key, "prompt": session["prompts"] + draft.prompt,
        "at": draft.at, "tool": draft.tool, "file": file, "command": draft.command, "outcome": "", "error": "",
        "passage": names.use(draft.given, draft.given_names, number, place, written=True), "project": draft.project,
    }  # fmt: skip


def _completed(call: Call, names: _Names, draft: CallDraft, folder: str) -> Call:
    """A call with its outcome as the client recorded it, and with the names in its output."""
    place = relative(place_of(call["file"], call["command"]), folder)
    # the outcome of a pipe is unknown, "": its output may hold an error
    may_have_failed = reliable_outcome(call["command"], draft.outcome) in ("failed", "")
    failed = bool(draft.outcome or draft.returned) and may_have_failed
    returned = names.use(draft.returned, draft.returned_names, call["number"], place, failed=failed)
    passage = "\n".join(part for part in (call["passage"], returned) if part)
    # if a call succeeded, only a failed test run in front of a pipe is an error
    is_error = draft.outcome != "ok" or (draft.error and not has_reliable_status(call["command"]))
    return {**call, "outcome": draft.outcome, "error": draft.error if is_error else "", "passage": passage}


def _note_places(places: SessionPlaces, session: Session, draft: CallDraft, call: Call, *, with_output: bool) -> None:
    """Record what a call edited and, with its output, the lines that it showed."""
    file, command = (draft.file, draft.command) if draft.is_begun else (call["file"], call["command"])
    if draft.hunks and draft.outcome != "failed":
        for hunk in draft.hunks:
            hunk.file = hunk.file or file
        if draft.hunks[0].file.startswith("/"):
            session["worktree"] = worktree_of(draft.hunks[0].file, session["folder"])
        places.note_edit(call["number"], draft.hunks)
    if draft.returned and with_output:
        shown = shown_lines(draft.returned, file=file, first=draft.first_line, command=command)
        places.note_shown(call["number"], shown)


def _is_news(call: Call, draft: CallDraft) -> bool:
    """Whether more is known of a call than is stored."""
    if call["outcome"] == "failed":
        return draft.outcome == "failed" and bool(draft.error) and not call["error"]
    has_changed = bool(draft.outcome or draft.returned) and draft.outcome != call["outcome"]
    return has_changed and call["outcome"] in ("", RUNNING)


class _Names:
    """The names that a piece uses, as the session knows them so far."""

    def __init__(self, db: apsw.Connection, session: Session, drafts: Iterable[CallDraft]) -> None:
        self._folder = session["folder"]
        self.changed: dict[str, Name] = {}
        wanted = {name for draft in drafts for name, _ in (*draft.given_names, *draft.returned_names)}
        self._known = stored_calls.known_names(db, session["id"], wanted)

    def use(
        self, text: str, names: Sequence[tuple[str, bool]], number: int, place: str, *, written: bool = False,
        failed: bool = False,
    ) -> str:  # fmt: skip
        """Count a use of each name in call `number`; returns the lines with a name that the session did not have yet.

        Args:
            names: the names in the text, in order, and whether each is an identifier.
            place: the file or program that the call works on.
            written: the text is the input of the call, not its output.
            failed: the call failed, so that its error lines are returned, too.
        """
        weight = 2.0 if written else 1.0  # an agent needs what it writes itself sooner than what it is shown
        new: list[tuple[int, str]] = []
        at, has_diff = 0, "\n+++ b/" in text
        for name, is_identifier in names:
            known = self._known.get(name)
            if known is None:
                at = max(at, text.find(name, at))
                new.append((at, name))
                file = place_in(text, at, has_diff=has_diff) if is_identifier else ""
                where = (relative(file, self._folder) or place) if is_identifier else ""
                self._known[name] = self.changed[name] = {
                    "name": name, "first": number, "last": number, "calls": 1,
                    "weight": weight if is_identifier else 0.0, "place": where, "written": number if written else 0,
                }  # fmt: skip
            elif is_identifier:  # another name is stored only for the line that had it first
                self._count(known, number, weight, place, written=written)
        return passage_of(text, new, failed=failed) if new or failed else ""

    def _count(self, name: Name, number: int, weight: float, place: str, *, written: bool) -> None:
        faded = name["weight"] * stored_calls.fading(number - name["last"])
        name["calls"] += name["last"] != number
        name["last"] = max(number, name["last"])
        name["weight"] = round(faded + weight, 4)
        if written:
            name["written"] = max(number, name["written"])
        if is_file(place) or not is_file(name["place"]):  # a file says more than a program
            name["place"] = place
        self.changed[name["name"]] = name


def _changed_plan(before: list[list[str]], change: Entry) -> list[list[str]]:
    """The plan after a change: rows of id, text, status."""
    steps = [[step.id, step.text, step.status] for step in change.steps]
    most = 60
    if change.whole:
        return steps[:most]
    after = [list(row) for row in before]
    for identifier, text, status in steps:
        if not identifier:
            after.append([str(1 + max((int(row[0]) for row in after if row[0].isdigit()), default=0)), text, status])
        for row in after:
            if row[0] == identifier:
                row[1:] = [text or row[1], status or row[2]]
    return [row for row in after if row[2] != "deleted"][-most:]
