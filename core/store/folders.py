"""Which project a folder has, so that memories follow a repository that is renamed, moved or removed. Hot path.

A project is named after its remote, or after its folder. The table `folder` keeps which project a folder had, for the
time after its remote was renamed, the folder was moved, or a worktree was removed.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, json_text
from core.project import folder_of, name_of, name_of_url, without_host
from core.store import documents, sessions, sqlite
from core.store.sqlite import marks

if TYPE_CHECKING:
    import apsw


class Known:
    """A folder with its project now and the project that it had, "" if it is new.

    `made_at`: when its repository was made here (ns), which a move keeps; 0 if it is unknown. `is_same`: whether it is
    the repository that had the former project, not another repository in its place.
    """

    __slots__ = ("folder", "former", "is_same", "made_at", "project")

    def __init__(self, folder: str, project: str, former: str = "", made_at: int = 0, *, is_same: bool = False) -> None:
        self.folder = folder
        self.project = project
        self.former = former
        self.made_at = made_at
        self.is_same = is_same


def known(db: apsw.Connection, cwd: str) -> Known:
    """The top folder of a working tree and its projects. A folder that is gone keeps the project that it had."""
    folder, name = folder_of(cwd), name_of(cwd)
    if folder and not os.path.lexists(folder):
        around = "SELECT project FROM folder WHERE path = ?1 OR substr(?1, 1, length(path) + 1) = path || '/'"
        former = db.execute(f"{around} ORDER BY length(path) DESC LIMIT 1", (folder,)).get
        return Known(folder, former or name, former or "")
    if not os.path.lexists(folder + "/.git"):
        return Known(folder, name)
    made_at = _made_at(folder)
    for project, at in db.execute("SELECT project, made_at FROM folder WHERE path = ?", (folder,)):
        if at == made_at or not (at and made_at):
            return Known(folder, name, project, made_at, is_same=at == made_at != 0)
    moved = db.execute("SELECT path, project FROM folder WHERE made_at = ?", (made_at,)).fetchall() if made_at else ()
    former = next((project for path, project in moved if not os.path.lexists(str(path))), "")
    if not former:  # names from before they had a host or an owner
        short = (without_host(name), name.rpartition("/")[2])
        begun = f"SELECT project FROM session WHERE folder = ? AND project IN ({marks(short)}) AND project <> ? LIMIT 1"
        former = db.execute(begun, (folder, *short, name)).get or ""
    return Known(folder, name, former, made_at, is_same=True)


def _made_at(folder: str) -> int:
    """When a repository was made in this place: git writes these files once. 0 if it did not write them."""
    git = folder + "/.git"
    try:
        return os.stat(git if os.path.isfile(git) else git + "/description").st_mtime_ns
    except OSError:
        return 0


def note(db: apsw.Connection, cwd: str) -> Known:
    """Note the project of a repository's folder. If its former project has no other folder, rename that.

    Merging two projects that both have memories is left to `joelclaw project rename`.
    """
    at = known(db, cwd)
    if at.project == at.former or not os.path.lexists(at.folder + "/.git"):
        return at
    from core.redaction import redact

    if redact(f"{at.folder}\n{at.project}")[1] or (at.former and not _may_follow(db, at)):
        return at
    with sqlite.transaction(db):
        if at.former:
            rename(db, at.former, at.project)
        db.execute("INSERT OR REPLACE INTO folder VALUES (?, ?, ?)", (at.folder, at.project, at.made_at))
    return at


def note_removed(db: apsw.Connection, cwd: str, url: str) -> Known | None:
    """Note the project of a folder that was removed before it was known, by the URL of its remote; None if it was not.

    Opens a transaction.
    """
    from core.redaction import redact

    at, project = known(db, cwd), name_of_url(url)
    if not project or at.former or os.path.lexists(at.folder) or redact(f"{at.folder}\n{project}")[1]:
        return None
    with sqlite.transaction(db):
        db.execute("INSERT OR REPLACE INTO folder VALUES (?, ?, 0)", (at.folder, project))
    return known(db, cwd)


def _may_follow(db: apsw.Connection, at: Known) -> bool:
    """Whether the former project is in no other folder, and the new project has no memories or is its longer name."""
    is_new = at.is_same and at.project not in (*documents.projects(db), *sessions.projects(db))
    if not (is_new or at.project.endswith("/" + at.former)):
        return False
    others = db.execute("SELECT path FROM folder WHERE project = ? AND path <> ?", (at.former, at.folder))
    return not any(os.path.lexists(path) and name_of(path) == at.former for (path,) in others)


def rename(db: apsw.Connection, former: str, name: str) -> list[str]:
    """Rename a project, or merge it into another, inside the caller's transaction.

    Returns its folders that still have the former name by their remote or their own: they keep it, because otherwise
    the memories would follow them back.
    """
    from core.store import kinds  # few projects are renamed

    paths = [str(path) for (path,) in db.execute("SELECT path FROM folder WHERE project = ?", (former,))]
    staying = [path for path in paths if os.path.lexists(path) and name_of(path) == former]
    gone = f"project = ? AND path NOT IN ({marks(staying)})"
    db.execute(f"UPDATE folder SET project = ? WHERE {gone}", (name, former, *staying))
    kinds.rename_project(db, former, name)
    return staying


def listed(db: apsw.Connection) -> list[dict[str, object]]:
    """The known projects by name, each with its number of memories and sessions, and its folders."""
    of_project: dict[str, dict[str, object]] = {}
    for key, query in (
        ("memories", "SELECT project, sum(documents) FROM tally WHERE forgotten = 0 GROUP BY 1"),
        ("sessions", "SELECT project, count(*) FROM session WHERE updated_at >= 0 GROUP BY 1"),
        ("folders", "SELECT project, json_group_array(path) FROM folder GROUP BY 1"),
    ):
        for name, value in db.execute(query):
            row = of_project.setdefault(name, {"project": name, "memories": 0, "sessions": 0, "folders": []})
            row[key] = json_text.loads(value) if key == "folders" else int(value)
    return [
        row
        for name, row in sorted(of_project.items())
        if name and any((row["memories"], row["sessions"], row["folders"]))
    ]
