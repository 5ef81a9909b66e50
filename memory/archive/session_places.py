"""The places of a session as a piece of its transcript changes them: what calls show, and what edits move. Hot path."""

from __future__ import annotations

from clients.edits import changed, now_at
from core.names import defined_in, is_file, names_by_line
from core.project import relative
from core.store.sessions import place_rows
from memory.archive.shown_places import LONGEST_LINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw

    from clients.event import Hunk
    from core.records import Edit, Place
    from memory.archive.shown_places import Line

MOST_NAMES = 3000
"""Of a call: more hold only listings and data."""
_MOST_ROWS = 20_000
_NEAR = range(-20, 21)
"""How many lines a formatter moves what it leaves as it is."""
_DATA = (".csv", ".json", ".jsonl", ".lock", ".log", ".snap", ".sum", ".svg", ".txt", ".xml")
"""Files whose names are keys and values."""
_QUOTES, _COMMENTS = "\"'", ("//", "# ", "* ", "-- ", "<!--")
_IMPORTS = ("import ", "from ", "use ", "#include", "} from ")
_NO_PLACE = (*_COMMENTS, *_IMPORTS)


class SessionPlaces:
    """The places of a session, read file by file as they are needed; `save` writes those that changed.

    `reached` is the last call whose places are known: a transcript that is read again changes none of them.
    """

    def __init__(self, db: apsw.Connection, session: str, folder: str) -> None:
        self._db, self._session, self._folder = db, session, folder
        self._files: dict[str, tuple[dict[str, Place], list[Edit]]] = {}
        self._changed: dict[tuple[str, str], Place] = {}
        self._edited: dict[tuple[str, int, int], Edit] = {}
        self._gone: set[tuple[str, str]] = set()
        self._known: list[str] = []
        self.reached = place_rows.reached(db, session)

    def shown(self, number: int, lines: list[Line]) -> None:
        """Note the names in lines that a call showed: of several with one name the first, or what defines it."""
        found: dict[tuple[str, str], tuple[int, bool]] = {}
        named: set[tuple[str, int, str]] = set()
        for file, name, line, defines in _names_at(lines):
            named.add((file, line, name))
            known = found.get((file, name))
            if (known is None and len(found) < MOST_NAMES) or (known and defines and not known[1]):
                found[file, name] = line, defines
        self._mend(lines, named, found)
        old = {(file, line) for file, line, _, is_whole in lines if is_whole is None}
        for (file, name), (line, defines) in found.items():
            if not is_file(file) or file.endswith(_DATA):
                continue
            path = self._path(file)
            new: Place = {"file": path, "name": name, "line": line, "number": number, "shown": 1, "defines": defines}
            place = self._in(path)[0].setdefault(name, new)
            place["shown"] += place["number"] != number
            place["number"] = max(number, place["number"])
            if (defines or not place["defines"]) and (file, line) not in old:
                place["line"], place["defines"] = line, defines
            self._changed[path, name] = place

    def _mend(
        self, lines: list[Line], named: set[tuple[str, int, str]], found: dict[tuple[str, str], tuple[int, bool]]
    ) -> None:
        """Drop the places whose line is shown without the name. Two such lines, or two definitions that are shown near
        where they were, tell that the file was changed by what the session does not say (a formatter, a subagent): then
        what is not shown here moves as the definitions above and below it do, or is dropped where these differ."""
        whole = {(file, line) for file, line, _, is_whole in lines if is_whole}
        for file in {file for file, _ in whole}:
            path = self._path(file)
            known = list(self._in(path)[0].values())
            moved: dict[int, int] = {}
            for one in known:
                line, defines = found.get((file, one["name"]), (0, False))
                if one["defines"] and defines and line - one["line"] in _NEAR:
                    moved[one["line"]] = line - one["line"]
            other = [one for one in known if (file, one["line"], one["name"]) not in named]
            wrong = {one["line"] for one in other if (file, one["line"]) in whole}
            is_changed = len(wrong.union(line for line, by in moved.items() if by)) > 1
            for one in other if is_changed else [one for one in other if one["line"] in wrong]:
                above = max((line for line in moved if line <= one["line"]), default=0)
                below = min((line for line in moved if line >= one["line"]), default=0)
                now = one["line"] + moved[below] if above and below and moved[above] == moved[below] else 0
                if not now or (file, now) in whole:
                    self._drop(path, one["name"])
                else:
                    one["line"] = now
                    self._changed[path, one["name"]] = one

    def _drop(self, path: str, name: str) -> None:
        del self._in(path)[0][name]
        self._changed.pop((path, name), None)
        self._gone.add((path, name))

    def edited(self, number: int, hunks: Sequence[Hunk]) -> None:
        """Note what a call changed; what stood below moves. An edit that is known changes nothing."""
        for hunk, change in enumerate(hunks):
            if not is_file(change["file"]):
                continue
            path = self._path(change["file"])
            places, edits = self._in(path)
            if any(one["number"] == number and one["hunk"] == hunk for one in edits):
                continue
            if before := change.get("before"):
                self._look_up(path, before)
            for name, place in list(places.items()):
                if line := now_at(change, place["line"]):
                    if line != place["line"]:
                        place["line"] = line
                        self._changed[path, name] = place
                else:  # its line is gone; where the new ones hold the name it is noted below
                    self._drop(path, name)
            for edit in edits:
                lines = range(edit["first"], edit["last"] + 1)
                first = next((line for at in lines if (line := now_at(change, at))), change["start"])
                ends = first, next((line for at in reversed(lines) if (line := now_at(change, at))), first)
                if ends != (edit["first"], edit["last"]):
                    edit["first"], edit["last"] = ends
                    self._edited[path, edit["number"], edit["hunk"]] = edit
            first, last = changed(change)
            made: Edit = {"number": number, "file": path, "first": first, "last": last, "hunk": hunk}
            edits.append(made)
            self._edited[path, number, hunk] = made
            rows = change["text"].split("\n")
            self.shown(number, [(path, change["start"] + at, row, True) for at, row in enumerate(rows)])

    def formatted(self, files: Sequence[str], count: int) -> None:
        """Note that a formatter changed these files, or so many of those edited last: no call showed them since."""
        edited = [one["file"] for one in (*place_rows.edits(self._db, self._session), *self._edited.values())]
        for path in map(self._path, files or list(dict.fromkeys(reversed(edited)))[:count]):
            for name, place in self._in(path)[0].items():
                place["shown"] = 0
                self._changed[path, name] = place

    def _look_up(self, path: str, text: str) -> None:
        """Move the places of a file to where the names stand in its text: a formatter may have moved them unseen."""
        rows = text.split("\n")
        known = self._in(path)[0].values()
        wrong = {one["name"]: one for one in known if one["name"] not in "".join(rows[one["line"] - 1 : one["line"]])}
        if not wrong or len(rows) > _MOST_ROWS:
            return
        nearest: dict[str, int] = {}
        for _, name, line, defines in _names_at([(path, at, row, True) for at, row in enumerate(rows, 1)]):
            place = wrong.get(name)
            if place is None or (place["defines"] and not defines):
                continue
            if name not in nearest or abs(line - place["line"]) < abs(nearest[name] - place["line"]):
                nearest[name] = line
        for name, place in wrong.items():
            if name in nearest:
                place["line"] = nearest[name]
                self._changed[path, name] = place
            else:
                self._drop(path, name)

    def save(self) -> None:
        """Write what changed, inside the caller's transaction."""
        place_rows.save(self._db, self._session, self._changed.values(), self._edited.values(), self._gone)

    def _path(self, file: str) -> str:
        """A file as it is kept; one that is named without its folder is the only known one that is called so."""
        path = relative(file, self._folder).removeprefix("./")
        if "/" not in path:
            self._known = self._known or place_rows.paths(self._db, self._session)
            ends = [one for one in (*self._known, *self._files) if one == path or one.endswith("/" + path)]
            if path not in ends and len(set(ends)) == 1:
                return ends[0]
        return path

    def _in(self, path: str) -> tuple[dict[str, Place], list[Edit]]:
        """The places and edits in a file."""
        if path not in self._files:
            places = place_rows.places(self._db, self._session, files=[path])
            edits = place_rows.edits(self._db, self._session, files=[path])
            self._files[path] = {place["name"]: place for place in places}, edits
        return self._files[path]


def _names_at(found: list[Line]) -> Iterator[tuple[str, str, int, bool]]:
    """File, name, line of each identifier in these lines, and whether it is defined there.

    None in a comment, in a string, or where it is imported.
    """
    texts = ["" if text.lstrip().startswith(_NO_PLACE) else text[:LONGEST_LINE] for _, _, text, _ in found]
    for (file, number, text, _), names in zip(found, names_by_line(texts), strict=True):
        if names:
            defined = defined_in(text)
            for name in names:
                at = text.find(name)
                in_string = text[max(0, at - 1)] in _QUOTES or text.count('"', 0, at) % 2
                if not in_string and text.strip() != f"{name},":
                    yield file, name, number, name == defined
