"""Places: the lines of files that tool calls show with their numbers, and the lines that edits change. Hot path.

A place is kept as it was last seen. Whoever gives it to the agent looks it up in the working tree
(`core.project`), since any edit or formatter may have moved it meanwhile.
"""

from __future__ import annotations

from clients.entries import hunk_at
from core import TYPE_CHECKING, shell_command
from core.names import defined_in, is_file, names_by_line
from core.project import relative
from core.store import calls

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw

    from clients.entries import Hunk
    from core.records import Edit, Place

    Line = tuple[str, int, str, bool]
    """A file, the number of a line, its text, and whether a diff shows it, which may be of any commit."""

LONGEST_LINE = 400  # characters read of a line: longer lines are data or generated
GLOB = frozenset("*?[]{}$")
CUT_HERE = " tokens truncated…"  # how Codex marks the part that it left out


class SessionPlaces:
    """The places and edits of a session. Files are loaded when first needed; `save` writes what changed."""

    def __init__(self, db: apsw.Connection, session: str, folder: str) -> None:
        self._db = db
        self._session = session
        self._folder = folder
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
        """Write what changed, inside the caller's transaction."""
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
