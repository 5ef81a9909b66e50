"""Files are 0600 and folders 0700 whatever the umask: they hold what people said (issue 2, "Nothing leaked").

What others can use all the same, as in a home that a backup copied back, is put right: `test_restore.py`.
"""

import os
import stat
from pathlib import Path

import in_process
import pytest
from conftest import JOELCLAW, attempt, clean_environment

EVERYTHING = (
    ("otel", "emit", "a.b"),
    ("memory", "write", "The scheduler of the gateway runs in UTC, never in local time"),
    ("memory", "import", "notes.jsonl"),
    ("recall", "scheduler gateway"),
    ("recall", "--batch", "queries.txt"),
    ("checkpoint", "save", "--session", "a/b", "--percent", "10", "--message", "fix the scheduler of the gateway"),
    ("checkpoint", "save", "--session", "a/b", "--percent", "75", "--file", "src/scheduler.ts"),
    ("checkpoint", "flush", "--session", "a/b"),
    ("inject", "recovery", "--session", "a/b"),
    ("inject", "memory", "--session", "new", "--query", "scheduler gateway"),
    ("store", "prune"),
    ("memory", "scorecard"),
    ("status",),
)


def call(home: Path, *words: str, umask: int) -> None:
    folder = next(folder for folder in home.parents if folder.exists())
    if words[0] in ("checkpoint", "inject"):  # what hooks call takes no home inside the project's folder
        folder = Path("/")
    before = os.umask(umask)
    try:
        code, out, err = in_process.call(JOELCLAW, words, None, clean_environment(home), folder)
    finally:
        os.umask(before)
    assert code == 0, (words, out, err)


def modes(folder: Path) -> dict[str, str]:
    """The mode of the folder and of everything below it."""
    return {
        str(path.relative_to(folder)): oct(stat.S_IMODE(path.lstat().st_mode)) for path in (folder, *folder.rglob("*"))
    }


def open_to_others(folder: Path) -> dict[str, str]:
    """What has another mode than ours have."""
    return {
        name: mode for name, mode in modes(folder).items() if mode != ("0o700" if (folder / name).is_dir() else "0o600")
    }


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_every_file_of_the_home_is_private(home: Path, umask: int) -> None:
    (home.parent / "notes.jsonl").write_text('{"text": "The billing exporter keeps ninety days of invoices"}\n')
    (home.parent / "queries.txt").write_text("billing\nscheduler\n")
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[recall]\nlimit = 3\n")  # it is kept in the cache
    (home / "config.toml").chmod(0o600)
    for words in EVERYTHING:
        call(home, *words, umask=umask)
        assert not open_to_others(home), words
    damaged = home / "sessions" / "new.json"
    damaged.write_text("{")
    call(home, "checkpoint", "save", "--session", "new", "--percent", "5", umask=umask)
    assert not open_to_others(home)
    actual = modes(home)
    assert {"cache", "store.db", "store.db-wal", "sessions", "sessions/new.json"} <= set(actual)
    assert any(".damaged-" in name for name in actual)


def test_missing_folders_above_the_home_are_private_too(tmp_path: Path) -> None:
    home = tmp_path / "made" / "for" / "us"
    call(home, "memory", "write", "The scheduler of the gateway runs in UTC", umask=0)
    assert not open_to_others(tmp_path / "made")


def test_the_log_of_a_private_store_is_private_when_it_is_made_again(home: Path) -> None:
    call(home, "memory", "write", "The scheduler of the gateway runs in UTC", umask=0)
    for name in ("store.db-wal", "store.db-shm"):
        os.replace(home / name, home.parent / name)
    call(home, "otel", "emit", "a.b", umask=0)
    assert not open_to_others(home)


@pytest.mark.parametrize("kind", ["file", "link to a file", "shared folder", "folder of others"])
@pytest.mark.parametrize(
    "words", [*EVERYTHING[:2], EVERYTHING[3], ("doctor", "--fix"), ("hook", "claude")], ids=" ".join
)
def test_what_is_no_home_of_ours_is_refused_untouched(tmp_path: Path, kind: str, words: tuple[str, ...]) -> None:
    home = tmp_path / "home"
    if kind.endswith("file"):
        theirs = tmp_path / "theirs" if kind.startswith("link") else home
        theirs.write_text("theirs")
        theirs.chmod(0o666)
        if theirs != home:
            home.symlink_to(theirs)
    else:
        home.mkdir()
        (home / "notes.txt").write_text("theirs")
        home.chmod(0o1777 if kind == "shared folder" else 0o755)
    before = modes(home), home.stat().st_mode
    prompt = b'{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "why is it read twice", "cwd": "/"}'
    done = attempt(home, *words, stdin=prompt)
    assert (modes(home), home.stat().st_mode) == before
    assert words[0] in ("doctor", "hook") or done.envelope["error"]["message"].startswith(f"{home}: it is "), done


def test_the_usual_home_is_ours_whatever_else_is_in_it(tmp_path: Path) -> None:
    home = tmp_path / ".joelclaw"
    home.mkdir(mode=0o755)
    (home / "config.toml.bak").write_text("[recall]")
    attempt(home, "memory", "write", "The scheduler of the gateway runs in UTC", env={"HOME": str(tmp_path)})
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_shared_folder_without_files_stays_shared(home: Path) -> None:
    home.mkdir()
    home.chmod(0o1777)
    call(home, "memory", "write", "The scheduler of the gateway runs in UTC", umask=0)
    assert oct(stat.S_IMODE(home.stat().st_mode)) == "0o1777"
    assert oct(stat.S_IMODE((home / "store.db").stat().st_mode)) == "0o600"
