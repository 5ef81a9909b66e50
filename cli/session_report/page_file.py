"""Writes a page where the user wants it: to a file that only the user can read, or to stdout."""

from __future__ import annotations

import os

from cli.answer import Answer
from cli.stdout import write_out
from core import files, home_files
from core.errors import Failure

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Stands in every page of ours: a browser loads nothing for it, and runs no script."""
_HEAD_BYTES = 1_024


def write(page: str, to: str | None, name: str) -> Answer | int:
    """Write a page and say where it is, or print it for `-`.

    Args:
        to: the file; None for `name` in the current folder. A page of ours that is there is replaced.

    Raises:
        Failure: PAGE_NOT_WRITTEN; what was there stays.
    """
    if to == "-":
        write_out(page)
        return 0
    path = os.path.abspath(files.safe_name(name) if to is None else to)
    data = page.encode("utf-8", "replace")
    fix = "give --to a file in a folder that can be written"
    if home_files.is_in_home(path):
        raise Failure("PAGE_NOT_WRITTEN", f"{path} is among our own files", "name a file elsewhere")
    if os.path.islink(path) or (os.path.exists(path) and not os.path.isfile(path)):
        raise Failure("PAGE_NOT_WRITTEN", f"{path} is no ordinary file", fix)
    if not os.path.isdir(os.path.dirname(path)):
        raise Failure("PAGE_NOT_WRITTEN", f"there is no folder {os.path.dirname(path)}", fix)
    try:
        if os.path.exists(path) and not _is_page(path):
            raise Failure("PAGE_NOT_WRITTEN", f"{path} is there, and no page of ours", "name another file")
        home_files.sweep_beside(path)
        files.write_whole(path, data)
    except OSError as error:
        raise Failure("PAGE_NOT_WRITTEN", f"{path}: {error.strerror}", fix) from None
    return Answer({"file": path, "bytes": len(data)})


def _is_page(path: str) -> bool:
    """Whether a file is empty, or a page that we wrote."""
    with open(path, "rb") as file:
        head = file.read(_HEAD_BYTES)
    return not head or POLICY.encode() in head
