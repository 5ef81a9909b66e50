"""The tool calls, plans and compactions in a piece of a transcript, and what came of the calls. Hot path.

`session_archive.Piece` hands over the entries of a piece in order. `PieceCalls` makes a `CallDraft` of each call and
finds its outcome. `call_rows` stores the drafts.
"""

from __future__ import annotations

from clients.content import given_text
from clients.entries import Entry, Hunk, Step
from core import TYPE_CHECKING, words
from core.names import is_file, names_in_order
from core.redaction import prints_secret
from core.store import sessions
from core.store.calls import RUNNING
from memory.archive.texts import both_ends, file_path, is_dense, is_error_line, one_line, plain, start

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_COMMAND_CHARS = 1000
MAX_READ_CHARS = 400_000  # of an input or output; if it is longer, its head and its tail are read


class PieceCalls:
    """The calls in a piece, with the plans and compactions between them.

    | what ends a call | how the call is known | method |
    |---|---|---|
    | its result | by its id | `_finish` |
    | the end of the background process that it began | `Waiting.runs` | `_finish_process` |
    | the result of another call, which asked for the output of that process | `Waiting.asks` | `_finish_asking` |
    | the result of the script (Codex) that made it and perhaps others | `Waiting.parts` | `_finish_script` |
    | the end of a command that such a script ran | `Waiting.parts`: its fingerprint | `_finish_part` |

    `waiting`: what the calls of earlier pieces wait for, which is changed. `is_copy`: a fork copied the piece.
    """

    def __init__(self, waiting: Waiting, folder: str, *, is_copy: bool = False) -> None:
        self._waiting = waiting
        self.is_copy = is_copy
        self.project = ""  # of the entries that are added
        self.prompts = 0  # new ones, so far
        self.last_call_before = waiting.last_call
        self.last_spoke_at = 0  # ms
        self.turn_ended_at = 0  # ms
        self._has_answered = True  # after its last call; the end of a turn without an answer is none
        self.events: list[tuple[CallDraft | Entry, int]] = []  # with the prompts before each
        self.drafts: dict[str, CallDraft] = {}
        self._folders = [folder] if len(folder) > 1 else []  # and parents that would count as a name
        while len(folder) > 1:
            folder = folder.rpartition("/")[0]
            if folder and names_in_order(folder.rpartition("/")[2]):
                self._folders.append(folder)

    def add(self, entry: Entry) -> None:
        """Add the next entry of the piece."""
        kind = entry.kind
        if kind == "call" or (kind in ("prompt", "answer") and entry.text):
            self._has_answered = kind == "answer"
            self.last_spoke_at = max(self.last_spoke_at, entry.at or 0)
        if kind == "call":
            self._begin(entry)
        elif kind == "result":
            self._add_result(entry)
        elif kind == "shell":
            self._add_shell(entry)
        elif kind == "edit":
            self._edited(call_key(entry.call)).edit(entry.hunks)
        elif kind == "process_end":
            self._finish_process(call_key(entry.process), entry.text, entry.failed)
            if entry.command:
                self._finish_part(entry)
        elif kind == "turn_end" and (self._has_answered or not entry.is_stop):
            self.turn_ended_at = entry.at or 0
        elif kind == "plan":
            steps = [Step(step.id, one_line(step.text, 200), one_line(step.status, 200)) for step in entry.steps]
            self.events.append((Entry("plan", call=entry.call, whole=entry.whole, steps=steps), self.prompts))
        elif kind == "compaction" or (kind == "summary" and entry.text):
            self.events.append((Entry(kind, entry.at, text=start(entry.text, sessions.SUMMARY_CHARS)), self.prompts))

    def _begin(self, call: Entry) -> None:
        key = call_key(call.call)
        draft = CallDraft(part_key(key, call.part), self._folders, self.prompts, call.at)
        draft.project = self.project
        draft.begin(call)
        known = self.drafts.get(draft.key)
        if known is not None and known.is_begun:  # a result in front of its call belongs to another call
            return
        self.drafts[draft.key] = draft
        self.events.append((draft, self.prompts))
        self._waiting.last_call = draft.key
        if call.part:
            self._waiting.last_script = key
            self._waiting.parts[key] = f"{self._waiting.parts.get(key, '')} {_kind_of(call)}"
        if any(draft.printing):
            self._waiting.prints[draft.key] = f"{draft.command}\n{file_path(call.target)}"
        if call.process:
            self._waiting.asks[draft.key] = call_key(call.process)

    def _add_result(self, result: Entry) -> None:
        key = call_key(result.call)
        if result.unrun:
            self._draft(key).outcome = "stopped"
            return
        self._has_answered = False
        if self._waiting.parts.get(key):
            self._finish_script(key, result)
        elif not (draft := self._draft(key)).outcome:
            if result.results:  # of a script without calls
                result.failed = bool(result.failed)
            self._finish(draft, result)

    def _finish(self, draft: CallDraft, result: Entry) -> None:
        """Note the result of a call."""
        asked = self._waiting.asks.pop(draft.key, "")
        printed = self._waiting.prints.pop(draft.key, "") or self._waiting.prints.get(asked, "")
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
            self._waiting.runs[process] = draft.key
            if printed:
                self._waiting.prints[process] = printed

    def _finish_asking(self, draft: CallDraft, process: str, result: Entry) -> None:
        """Note the result of a call that asked for the output of a process. Its failure is that of a known process."""
        text, begun = result.text, self._waiting.runs.get(process)
        if begun and not result.process:  # it has ended
            if self._waiting.parts.get(begun):
                del self._waiting.runs[process]
                self._finish_script(begun, result)
                text = ""
            else:
                self._finish_process(process, text, bool(result.failed))
        draft.finish(text, "failed" if result.failed and not begun else "ok", "")

    def _finish_process(self, process: str, text: str, failed: bool | None) -> None:
        """Note the end of a background process in the call that began it; `failed` is None if it was stopped."""
        if begun := self._waiting.runs.get(process):
            if text or not failed:  # else its output may still be asked for
                del self._waiting.runs[process]
            draft = self._draft(begun)
            reason = both_ends(text, MAX_READ_CHARS, *draft.printing) if failed else ""
            draft.set_outcome("stopped" if failed is None else "failed" if failed else "ok", reason)

    def _add_shell(self, shell: Entry) -> None:
        """Add a command that the user ran, or what it printed; the agent's turn does not change by it."""
        if shell.command:
            self._begin(shell)
        if shell.content is not None:
            result = Entry("result", text=shell.content, failed=shell.failed)
            self._finish(self._draft(call_key(shell.call)), result)

    def _draft(self, key: str) -> CallDraft:
        """The draft of a call; a new draft if the call is stored already."""
        if key not in self.drafts:
            self.drafts[key] = CallDraft(key, self._folders)
            self.events.append((self.drafts[key], 0))
        return self.drafts[key]

    # The calls that a script of Codex made

    def _finish_script(self, script: str, result: Entry) -> None:
        """Give each call of a script its share of the result."""
        from clients.codex_script import shares

        kinds = self._waiting.parts[script].split()
        found = shares(result, [kind not in ("p", "-") for kind in kinds])
        # in reverse, since a script that goes on is known by its first call
        for number, share in reversed([*enumerate(found, 1)]):
            draft, kind = self._draft(part_key(script, number)), kinds[number - 1]
            if share is None or draft.outcome not in ("", RUNNING):
                continue
            if kind == "-" and draft.key not in self._waiting.asks and not result.process:
                share.failed = bool(result.failed) and share.failed
                if share.process:  # the program to which it wrote
                    self._waiting.asks[draft.key] = call_key(share.process)
            elif share.failed is None and not any(map(is_error_line, share.text.splitlines())):
                share.failed = False
            self._finish(draft, share)
        if not result.process:
            self._waiting.parts.pop(script, None)

    def _finish_part(self, end: Entry) -> None:
        """Note the end of a command that a script ran."""
        drafts = self._parts(words.fingerprint(end.command)[:8]) or self._parts("?")
        for draft in drafts[:1]:
            draft.command = draft.command or start(end.command, MAX_COMMAND_CHARS)
            self._finish(draft, Entry("result", text=end.text, failed=end.failed))

    def _parts(self, kind: str) -> list[CallDraft]:
        """The calls of the latest script that are of a kind and may still go on."""
        script = self._waiting.last_script
        kinds = enumerate(self._waiting.parts.get(script, "").split(), 1)
        drafts = [self._draft(part_key(script, number)) for number, found in kinds if found == kind]
        return [draft for draft in drafts if draft.outcome in ("", RUNNING)]

    def _edited(self, key: str) -> CallDraft:
        """The draft of the call that made an edit. Codex does not say which patch of a script it was."""
        patches = [] if key in self.drafts else [part for part in self._parts("p") if not part.hunks]
        return patches[0] if patches else self._draft(key)


class Waiting:
    """What calls wait for between two pieces. Calls and processes are named by their keys (`call_key`)."""

    def __init__(self, stored: dict[str, str]) -> None:
        self.last_call = stored.get("last", "")  # of the session
        self.last_script = stored.get("script", "")  # of the session
        self.parts: dict[str, str] = {}  # of a script without a result: the kinds of its calls, see `_kind_of`
        self.runs: dict[str, str] = {}  # of a background process: the call that began it
        self.asks: dict[str, str] = {}  # of a call: the background process whose output it asks for
        self.prints: dict[str, str] = {}  # of a call or process: command and path, if its output may hold a secret
        for name, value in stored.items():
            table, space, key = name.partition(" ")
            if space:
                vars(self)[table][key] = value

    def to_dict(self) -> dict[str, str]:
        """What to store; of each kind the last sixty, since what waits longer has outlived its use."""
        stored = {"last": self.last_call, "script": self.last_script}
        for table in ("parts", "runs", "asks", "prints"):
            stored |= {f"{table} {key}": value for key, value in [*vars(self)[table].items()][-60:]}
        return {name: value for name, value in stored.items() if value}


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
