"""The rows of tool calls: a call, its names, the lines of files that it showed, and its edits. Hot path.

`session_archive` hands over the calls of a piece. `CallRows` stores each as a new call, or completes the stored call
that it is news about; reading a transcript again changes nothing. `shown_lines` finds out which lines of which files an
output shows.

A name is stored with the line in which its session first had it, a place as it was last seen. Whoever gives a place to
the agent looks it up in the working tree (`core.project`), since any edit or formatter may have moved it meanwhile.
"""

from __future__ import annotations

from clients.entries import hunk_at
from core import TYPE_CHECKING, shell_command
from core.names import defined_in, is_file, names_by_line
from core.project import relative, worktree_of
from core.shell_command import has_reliable_status, place_in, place_of, reliable_outcome
from core.store import calls, sessions
from memory.archive.call_drafts import CallDraft, call_key
from memory.archive.texts import passage_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import apsw

    from clients.entries import Entry, Hunk
    from core.records import Call, Edit, Name, Place, Session
    from memory.archive.call_drafts import PieceCalls

    Line = tuple[str, int, str, bool]
    """A file, the number of a line, its text, and whether a diff shows it, which may be of any commit."""

LONGEST_LINE = 400  # characters read of a line: longer lines are data or generated
GLOB = frozenset("*?[]{}$")
CUT_HERE = " tokens truncated…"  # how Codex marks the part that it left out


def store_calls(db: apsw.Connection, session: Session, piece: PieceCalls, *, is_first: bool, now: int) -> int:
    """Store the calls, plans and compactions of a piece, and the record of the session, which is changed by them.

    This is done inside the caller's transaction. `is_first`: the piece is the first of its transcript. `now`: ms since
    the epoch, for what has no time. Returns the number of new calls.
    """
    identifier = session["id"]
    if not (piece.events or piece.prompts or piece.turn_ended_at or session.get("parent")):
        return 0
    if is_first:
        session["prompts"], session["plan"] = 0, []
        session.pop("plan_at", None)
    last = calls.by_key(db, identifier, piece.last_call_before) if piece.last_call_before else None
    before, number = session["calls"], last["number"] if last else 0
    rows = CallRows(db, session, [event for event, _ in piece.events if isinstance(event, CallDraft)])
    for event, prompts_before in piece.events:
        event.at = event.at or piece.last_spoke_at or now
        if isinstance(event, CallDraft):
            stored = rows.store(event)
            number = stored if event.is_begun else number
        elif event.kind == "plan":
            draft = piece.drafts.get(call_key(event.call))
            if not piece.is_copy and (draft is None or draft.outcome != "failed"):
                session["plan"] = _changed_plan(session["plan"], event)
                session["plan_at"] = [number, session["prompts"] + prompts_before]
        else:
            sessions.save_compaction(db, identifier, number, event.at, event.text)
    rows.save()
    session["prompts"] += 0 if piece.is_copy else piece.prompts
    session["ended_at"] = max(session.get("ended_at", 0), piece.turn_ended_at)
    # a transcript may be read long after it was written
    session["updated_at"] = max(session["updated_at"], piece.last_spoke_at) or now
    sessions.save(db, session)
    return session["calls"] - before


class CallRows:
    """Stores the calls of a piece, inside the caller's transaction, and counts them in the session's record."""

    def __init__(self, db: apsw.Connection, session: Session, drafts: Iterable[CallDraft]) -> None:
        self._db = db
        self._session = session
        self._folder = session["folder"]
        self._places = _Places(db, session)
        wanted = {name for draft in drafts for name, _ in (*draft.given_names, *draft.returned_names)}
        self._names = calls.known_names(db, session["id"], wanted)
        self._changed_names: dict[str, Name] = {}

    def store(self, draft: CallDraft) -> int:
        """Store a new call, or complete a stored call; returns its number, 0 if the call is unknown."""
        call = calls.by_key(self._db, self._session["id"], draft.key)
        if call is None and not draft.is_begun:
            return 0
        if call is not None and call["outcome"] == calls.FORGOTTEN:
            return call["number"]
        is_news = call is None or _is_news(call, draft)
        call = call or self._new_call(draft)
        self._note_places(draft, call, with_output=is_news)
        if is_news:
            calls.save(self._db, self._completed(call, draft))
        return call["number"]

    def save(self) -> None:
        """Write the names, places and edits of the calls."""
        calls.save_names(self._db, self._session["id"], self._changed_names.values())
        self._places.save()

    def _new_call(self, draft: CallDraft) -> Call:
        """The next call of the session, with the names in its input."""
        session = self._session
        session["calls"] += 1
        call: Call = {
            "session": session["id"], "number": session["calls"], "key": draft.key,
            "prompt": session["prompts"] + draft.prompt, "at": draft.at, "tool": draft.tool,
            "file": relative(draft.file, self._folder), "command": draft.command, "outcome": "", "error": "",
            "passage": "", "project": draft.project,
        }  # fmt: skip
        call["passage"] = self._use_names(call, draft.given, draft.given_names, written=True)
        return call

    def _completed(self, call: Call, draft: CallDraft) -> Call:
        """A call with its outcome as the client recorded it, and with the names in its output."""
        # the outcome of a pipe is unknown, "": its output may hold an error
        may_have_failed = reliable_outcome(call["command"], draft.outcome) in ("failed", "")
        failed = bool(draft.outcome or draft.returned) and may_have_failed
        returned = self._use_names(call, draft.returned, draft.returned_names, failed=failed)
        passage = "\n".join(part for part in (call["passage"], returned) if part)
        # if a call succeeded, only a failed test run in front of a pipe is an error
        is_error = draft.outcome != "ok" or (draft.error and not has_reliable_status(call["command"]))
        return {**call, "outcome": draft.outcome, "error": draft.error if is_error else "", "passage": passage}

    def _note_places(self, draft: CallDraft, call: Call, *, with_output: bool) -> None:
        """Record what a call edited and, with its output, the lines that it showed."""
        file, command = (draft.file, draft.command) if draft.is_begun else (call["file"], call["command"])
        if draft.hunks and draft.outcome != "failed":
            for hunk in draft.hunks:
                hunk.file = hunk.file or file
            if draft.hunks[0].file.startswith("/"):
                self._session["worktree"] = worktree_of(draft.hunks[0].file, self._folder)
            self._places.note_edit(call["number"], draft.hunks)
        if draft.returned and with_output:
            shown = shown_lines(draft.returned, file=file, first=draft.first_line, command=command)
            self._places.note_shown(call["number"], shown)

    def _use_names(
        self, call: Call, text: str, names: Sequence[tuple[str, bool]], *, written: bool = False, failed: bool = False
    ) -> str:
        """Count a use of each name in a text; returns the lines with a name that the session did not have yet.

        Args:
            text: the output of the call or, if `written`, its input.
            names: those in the text, in order, and whether each is an identifier.
            failed: the call failed, so that its error lines are returned, too.
        """
        number, place = call["number"], relative(place_of(call["file"], call["command"]), self._folder)
        weight = 2.0 if written else 1.0  # an agent needs what it writes itself sooner than what it is shown
        new: list[tuple[int, str]] = []
        at, has_diff = 0, "\n+++ b/" in text
        for name, is_identifier in names:
            known = self._names.get(name)
            if known is None:
                at = max(at, text.find(name, at))
                new.append((at, name))
                file = place_in(text, at, has_diff=has_diff) if is_identifier else ""
                where = (relative(file, self._folder) or place) if is_identifier else ""
                self._names[name] = self._changed_names[name] = {
                    "name": name, "first": number, "last": number, "calls": 1,
                    "weight": weight if is_identifier else 0.0, "place": where, "written": number if written else 0,
                }  # fmt: skip
            elif is_identifier:  # another name is stored only for the line that had it first
                self._count_use(known, number, weight, place, written=written)
        return passage_of(text, new, failed=failed) if new or failed else ""

    def _count_use(self, name: Name, number: int, weight: float, place: str, *, written: bool) -> None:
        faded = name["weight"] * calls.fading(number - name["last"])
        name["calls"] += name["last"] != number
        name["last"] = max(number, name["last"])
        name["weight"] = round(faded + weight, 4)
        if written:
            name["written"] = max(number, name["written"])
        if is_file(place) or not is_file(name["place"]):  # a file says more than a program
            name["place"] = place
        self._changed_names[name["name"]] = name


def shown_lines(text: str, *, file: str = "", first: int = 0, command: str = "") -> list[Line]:
    """The lines of an output whose place is known.

    The place comes from the output itself (numbered lines, a search, a diff, a compiler's message, a stack trace), or
    from the command if that says which lines it prints (`sed -n '10,40p' FILE`).

    Args:
        file: the file that the tool was asked for.
        first: the line with which it begins, if it shows lines without their numbers; else 0.
        command: the shell command that printed the text.
    """
    most = 3000  # lines
    rows = text.split("\n", most)[:most]
    if command and (part := _printed_part(command)):
        file, begin, end = part
        if begin:
            head, cut, _ = text.partition(CUT_HERE)
            if text.startswith(("Total output lines: ", "<persisted-output>")):  # shortened by the client
                return []
            printed = (head.split("\n")[:-1] if cut else rows)[: end - begin + 1]
            return [(file, begin + at, row, False) for at, row in enumerate(printed)]
    found = list(_numbered(rows, file))
    if not found and first and file:
        return [(file, first + at, row, False) for at, row in enumerate(rows)]
    if found and not found[0][1]:  # asked to begin at line 0, Claude Code counts from there
        return [(name, number + 1, row, in_diff) for name, number, row, in_diff in found]
    return found


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


def _is_news(call: Call, draft: CallDraft) -> bool:
    """Whether more is known of a call than is stored."""
    if call["outcome"] == "failed":
        return draft.outcome == "failed" and bool(draft.error) and not call["error"]
    has_changed = bool(draft.outcome or draft.returned) and draft.outcome != call["outcome"]
    return has_changed and call["outcome"] in ("", calls.RUNNING)


class _Places:
    """The places and edits of a session. Files are loaded when first needed; `save` writes what changed."""

    def __init__(self, db: apsw.Connection, session: Session) -> None:
        self._db = db
        self._session = session["id"]
        self._folder = session["folder"]
        self._files: dict[str, dict[str, Place]] = {}
        self._changed: dict[tuple[str, str], Place] = {}
        self._edits: list[Edit] = []
        self._known_paths: list[str] = []

    def note_shown(self, number: int, lines: Sequence[Line]) -> None:
        """Record the names in the lines that call `number` showed: the definition of a name, else its first use."""
        data_files = (".csv", ".json", ".jsonl", ".lock", ".log", ".snap", ".sum", ".svg", ".txt", ".xml")
        files = {file for file, *_ in lines}
        sources = {file for file in files if is_file(file) and not file.endswith(data_files)}
        found: dict[tuple[str, str], tuple[int, bool, bool]] = {}
        for (file, line, _, in_diff), name, defines in _names_in([row for row in lines if row[0] in sources]):
            known = found.get((file, name))
            if known is None or (defines and not known[1]):
                found[file, name] = line, defines, in_diff
        for (file, name), seen in found.items():
            self._note(number, self._path(file), name, seen)

    def _note(self, number: int, path: str, name: str, seen: tuple[int, bool, bool]) -> None:
        line, defines, in_diff = seen
        if path not in self._files:
            known = calls.places(self._db, self._session, files=[path])
            self._files[path] = {place["name"]: place for place in known}
        places = self._files[path]
        place = places.get(name)
        if place is None:
            place = places[name] = {
                "file": path, "name": name, "line": line, "number": number, "shown": 1, "defines": defines,
            }  # fmt: skip
        elif number < place["number"]:  # an old part of a transcript that is read again
            return
        else:
            place["shown"] += place["number"] != number
            place["number"] = number
            if (defines or not place["defines"]) and not in_diff:
                place["line"], place["defines"] = line, defines
        self._changed[path, name] = place

    def note_edit(self, number: int, hunks: Sequence[Hunk]) -> None:
        """Record the ranges that call `number` changed, and the names in their new lines."""
        for index, hunk in enumerate(hunks):
            if not is_file(hunk.file):
                continue
            path = self._path(hunk.file)
            first, last = hunk.changed_lines()
            self._edits.append({"number": number, "file": path, "first": first, "last": last, "hunk": index})
            rows = hunk.text.split("\n")
            self.note_shown(number, [(path, hunk.start + at, row, False) for at, row in enumerate(rows)])

    def save(self) -> None:
        """Write what changed."""
        if self._changed or self._edits:
            calls.save_places(self._db, self._session, self._changed.values(), self._edits)

    def _path(self, file: str) -> str:
        """The path under which a file is stored. A bare file name is completed if a single known path ends with it."""
        path = relative(file, self._folder).removeprefix("./")
        if "/" not in path:
            self._known_paths = self._known_paths or calls.paths(self._db, self._session)
            ends = {known for known in (*self._known_paths, *self._files) if f"/{known}".endswith(f"/{path}")}
            if path not in ends and len(ends) == 1:
                return ends.pop()
        return path


def _names_in(lines: Sequence[Line]) -> Iterator[tuple[Line, str, bool]]:
    """Each identifier in these lines, and whether its line defines it. Comments, strings and imports are skipped."""
    skipped = ("//", "# ", "* ", "-- ", "<!--", "import ", "from ", "use ", "#include", "} from ")
    texts = ["" if text.lstrip().startswith(skipped) else text[:LONGEST_LINE] for _, _, text, _ in lines]
    for line, names in zip(lines, names_by_line(texts), strict=True):
        text = line[2]
        defined = defined_in(text) if names else ""
        for name in names:
            at = text.find(name)
            in_string = text[max(0, at - 1)] in "\"'" or text.count('"', 0, at) % 2
            if not in_string and text.strip() != f"{name},":
                yield line, name, name == defined


def _printed_part(command: str) -> tuple[str, int, int] | None:
    """The only file that a command prints, with its first and last line, both 0 if the output has line numbers.

    None if the output may hold anything else, or if a filter leaves lines out.
    """
    found: list[tuple[str, int, int]] = []
    folder = ""
    for step in shell_command.steps(command):
        program, words = step["program"], step["words"]
        if any(not target.startswith(("/dev/null", "&")) for target in step["targets"]):
            return None
        if program == "cd":
            if len(words) != 2 or not GLOB.isdisjoint(words[1]):
                return None
            folder = f"{words[1].rstrip('/')}/"
            continue
        files = [word for word in words[1:] if is_file(word) and word[0] != "-" and GLOB.isdisjoint(word)]
        span = _printed_lines(program, words) if len(files) == 1 and not found else ()
        if span:
            found.append((files[0] if files[0][0] in "/~" else folder + files[0], *span))
        elif not (found and step["looks"] and (not found[0][1] or program == "head")):
            return None
    return found[0] if found else None


def _printed_lines(program: str, words: list[str]) -> tuple[int, int] | tuple[()]:
    """The first and last line that a program prints of its file, (0, 0) if it numbers them, () if neither is known."""
    options = [word for word in words[1:] if word.startswith("-")]
    if program == "sed" and options == ["-n"]:
        for word in words:
            begin, _, end = word.removesuffix("p").partition(",")
            if word.endswith("p") and begin.isdecimal() and (end.isdecimal() or not end) and len(word) < 18:
                return int(begin), int(end or begin)
    if program in ("cat", "head") and not options:
        return 1, 1 << 30  # to the end of the file
    short = "".join(word for word in options if not word.startswith("--"))
    numbered = ("n" in short and "o" not in short) or "--line-number" in options or program in ("ack", "ag", "bat")
    return (0, 0) if numbered and program in ("grep", "egrep", "fgrep", "rg", "ack", "ag", "cat", "bat") else ()


def _numbered(rows: list[str], file: str) -> Iterator[Line]:
    """The lines that begin with their number (in `file`) or with a file and a number, and those in a diff."""
    in_diff = ""
    number = left = 0
    for row in rows:
        if CUT_HERE in row or row[:5] == "... [":  # a part is left out here
            in_diff, left = "", 0
        if left and row[:1] in ("+", " ", "-", "\\", ""):
            if row[:1] in ("+", " ", ""):  # an empty line may have lost its space
                yield in_diff, number, row[1:], True
                number, left = number + 1, left - 1
            continue
        left = 0
        if row[:6] == "+++ b/":
            in_diff = row[6:].partition("\t")[0]
        elif in_diff and (header := row[row.find("? ") + 2 :] if row[:1] == "(" else row)[:4] == "@@ -":
            number, left = hunk_at(header)
        elif row[:5] == "diff ":
            in_diff = ""
        else:
            bare = row.lstrip(" ")
            if "0" <= bare[:1] <= "9":
                digits = _line_number(bare)
                mark = bare[len(digits) : len(digits) + 1]
                # as `cat -n`, `bat`, `grep -n` and clients separate them
                if file and digits and mark and mark in "→\t|│:-":
                    yield file, int(digits), bare[len(digits) + 1 :], False
            elif "." in row and (place := _file_and_line(bare[:LONGEST_LINE])):
                yield *place, False


def _file_and_line(row: str) -> tuple[str, int, str] | None:
    """File, line and the rest of a row such as `path/name.go:12:5: …`, `path.py-12-…` or `at f (src/a.ts:12:5)`."""
    path, _, rest = row.partition(":")
    if (digits := _line_number(rest)) and is_file(path) and " " not in path:
        return path.removeprefix("./"), int(digits), rest[len(digits) + 1 :]
    letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    at = row.find(".")
    while at > 0:
        end = len(row) - len(row[at + 1 :].lstrip(letters))
        mark, digits = row[end : end + 1], _line_number(row[end + 1 :])
        if digits and mark in ":-(":
            begin = len(row[:at].rstrip(letters + "_-./@+$"))
            path, behind = row[begin:end], row[end + 1 + len(digits) :]
            if is_file(path) and (mark != "-" or (begin == 0 and behind[:1] == "-")):
                return path.removeprefix("./"), int(digits), row[:begin] + " " * (mark != "-") + behind[1:]
        at = row.find(".", end)
    return None


def _line_number(text: str) -> str:
    """The number that a text begins with; "" if there is none or if it is too long for the number of a line."""
    digits = text[: len(text) - len(text.lstrip("0123456789"))]
    return digits if len(digits) < 8 else ""
