"""Writes a page where the user wants it: to a file that only the user can read, or to stdout."""

from __future__ import annotations

import os

from cli.answer import Answer, write_out
from core import files
from core.errors import Failure
from session.session_report.page import POLICY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
    if files.is_in_home(path):
        raise Failure("PAGE_NOT_WRITTEN", f"{path} is among our own files", "name a file elsewhere")
    if os.path.lexists(path):
        if os.path.islink(path) or not os.path.isfile(path):
            raise Failure("PAGE_NOT_WRITTEN", f"{path} is no ordinary file", fix)
        if not _is_page(path):
            raise Failure("PAGE_NOT_WRITTEN", f"{path} is there, and no page of ours", "name another file")
    try:
        _replace(path, data)
    except OSError as error:
        raise Failure("PAGE_NOT_WRITTEN", f"{path}: {error.strerror}", fix) from None
    result: dict[str, Any] = {"file": path, "bytes": len(data)}
    return Answer(result)


def _is_page(path: str) -> bool:
    """Whether a file is empty, or a page that we wrote."""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return not head or POLICY.encode() in head


def _replace(path: str, data: bytes) -> None:
    files.sweep_beside(path)
    temporary = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
