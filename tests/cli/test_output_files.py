"""Files that a user names: no page over ours or over what is none of ours, and no device is read to its end."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run

PAGE = ("report", "--html", "--to")


@pytest.mark.parametrize("words", [PAGE, ("otel", "export", "--to")], ids=" ".join)
def test_nothing_is_written_among_our_own_files(run: Run, home: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    run("memory", "write", "the scheduler of the gateway runs in UTC, never in local time")
    before = (home / "store.db").read_bytes()
    (tmp_path / "link").symlink_to(home)
    for path in (home / "store.db", home / "new.html", tmp_path / "link" / "store.db"):
        failed = run(*words, str(path), ok=False)
        assert failed.code == 1 and failed.json["fix"]
    assert (home / "store.db").read_bytes() == before and not (home / "new.html").exists()
    assert run("recall", "scheduler gateway").result["hits"]


def test_a_page_replaces_a_page_and_nothing_else(run: Run, tmp_path: Path) -> None:
    run("otel", "emit", "a.b")
    page, other = tmp_path / "page.html", tmp_path / "settings.json"
    other.write_text("{}")
    for _ in range(2):
        assert run(*PAGE, str(page)).result["file"] == str(page)
    assert run(*PAGE, str(other), ok=False).json["error"]["code"] == "PAGE_NOT_WRITTEN"
    assert other.read_text() == "{}"


@pytest.mark.parametrize("words", [("memory", "import"), ("otel", "import"), ("recall", "--batch")], ids=" ".join)
def test_a_device_is_no_file_to_read(run: Run, words: tuple[str, ...]) -> None:
    failed = run(*words, "/dev/zero", ok=False)
    assert failed.code == 2 and "device" in failed.json["error"]["message"]
    if words[0] != "recall":
        run(*words, "/dev/null")
