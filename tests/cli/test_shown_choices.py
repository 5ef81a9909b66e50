"""What a person reads on a terminal of what is switched off, trusted, installed for a shell, backed up and restored."""

from __future__ import annotations

from typing import Any

import pytest
from terminal import drawn, styles

from cli.installation import view as installation
from cli.store import backup_view
from cli.switch import view as switch

STEP = {"command": "joelclaw next", "description": "what comes next"}
SHOWN_STEP = "→ joelclaw next  what comes next"
STAYS = "What deletes, is run, or says where things are sent stays yours, whatever a project's file says."
LEFT_ALONE = "Hooks inject, recall, archive and save nothing; recall and memory write still work."
BACKED_UP: dict[str, Any] = {
    "file": "/b.tar", "bytes": 2048, "files": 7, "counts": {"memories": 1200, "toolCalls": 3, "other": 9},
    "home": "/h", "restored": True, "createdAt": "2026-09-21T12:13:20Z", "joelclaw": "0.1", "keptAside": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"scope": "everywhere", "name": "", "chosenBy": "flag"}, "everything is off."),
        ({"scope": "project", "name": "acme", "chosenBy": "folder"}, "the project acme (that of this folder) is off."),
        ({"scope": "session", "name": "s", "chosenBy": "session"},
         "the session s (the one around this command) is off."),
        ({"scope": "session", "name": "s", "chosenBy": "flag", "changed": False}, "the session s is off already."),
    ],
)  # fmt: skip
def test_what_is_off(about: dict[str, Any], said: str) -> None:
    result = {"off": True, "changed": True, **about}
    assert drawn(switch.switched, result, STEP) == [said, LEFT_ALONE, SHOWN_STEP]


def test_what_is_on_and_what_is_still_off() -> None:
    result = {"off": False, "changed": True, "scope": "session", "name": "s", "chosenBy": "flag", "setAside": "/x"}
    still = [{"scope": "project", "name": "acme", "since": "then"}]
    assert drawn(switch.switched, {**result, "stillOff": still}, STEP) == [
        "the session s is on.",
        "What was off before is not known: a damaged file is now /x",
        "scope    name  since",
        "project  acme  then",
        SHOWN_STEP,
    ]
    assert drawn(switch.switched, {**result, "setAside": "", "stillOff": []}) == ["the session s is on."]


def test_folders_that_are_excluded() -> None:
    assert drawn(switch.excluded, {"excluded": ["/a", "/b"]}, STEP) == ["folder", "/a", "/b"]
    assert drawn(switch.excluded, {"excluded": []}) == ["No folder is excluded."]
    result = {"excluded": True, "path": "/a", "archivedBefore": []}
    not_archived = "Sessions of /a and of the folders below are not archived."
    assert drawn(switch.excluded, result, STEP) == [not_archived, SHOWN_STEP]
    for sessions, stay in ((["s"], "one session stays"), (["s", "t"], "2 sessions stay")):
        assert drawn(switch.excluded, {**result, "archivedBefore": sessions}) == [
            not_archived,
            f"What was archived before of {stay} until you forget it.",
        ]
    assert drawn(switch.excluded, {**result, "excluded": False}) == [
        "Sessions of /a and of the folders below are archived again."
    ]


def test_a_backup() -> None:
    assert drawn(backup_view.backed_up, BACKED_UP, STEP) == [
        "backed up to /b.tar", "size        2.0 KiB", "files       7", "memories    1,200", "tool calls  3", SHOWN_STEP,
    ]  # fmt: skip


def test_what_was_restored() -> None:
    rows = [
        "of          2026-09-21 12:13, joelclaw 0.1", "files       7", "memories    1,200", "tool calls  3",
    ]  # fmt: skip
    assert drawn(backup_view.restored, BACKED_UP, STEP) == ["restored to /h", *rows, SHOWN_STEP]
    verified = {**BACKED_UP, "restored": False, "keptAside": ["/x", "/y"]}
    assert drawn(backup_view.restored, verified) == ["the backup is whole", *rows, "kept aside  /x, /y"]


def test_folders_that_are_trusted() -> None:
    rows = [
        {"path": path, "at": "2026-09-21T12:13:20Z", "stands": stands} for path, stands in (("/a", True), ("/b", 0))
    ]
    assert drawn(installation.trust, {"trusted": rows}, STEP) == [
        "folder  since       stands", "/a      2026-09-21", "/b      2026-09-21  no: another folder",
    ]  # fmt: skip
    assert drawn(installation.trust, {"trusted": []}) == ["No folder is trusted."]


def trusted(**about: Any) -> list[str]:
    """The lines below the first two of a folder that is trusted now."""
    lines = drawn(installation.trust, {"path": "/a", "trusted": True, "changed": True, **about}, STEP, columns=120)
    assert lines[1] == (
        "What its files choose (queries, scores, scopes, descriptions) is recalled from all that is global, too."
    )
    assert lines[-2:] == [STAYS, SHOWN_STEP]
    return [lines[0], *lines[2:-2]]


def test_what_trust_lets_in() -> None:
    chosen = {
        "file": "/a/c.toml",
        "settings": {"recall.limit": 7},
        "scopes": {"api": "routes"},
        "never": [],
        "fault": "",
    }
    let_in = "Let in from /a/c.toml, and whatever is added to it later:"
    assert trusted(chooses=chosen) == [
        "/a is trusted.", let_in, "  recall.limit  7", "  scopes.api    routes",
    ]  # fmt: skip
    bare = {**chosen, "settings": {}, "scopes": {}, "never": ["x", "y"]}
    assert trusted(chooses=bare, changed=False) == [
        "/a is trusted already.", let_in, "  nothing", "Not let in, though the file says it: x, y.",
    ]  # fmt: skip
    assert trusted(chooses={**chosen, "fault": "is no TOML"})[1:] == ["/a/c.toml is left out: it is no TOML"]
    assert trusted(chooses=None)[1:] == [
        "Its folder has no .joelclaw/config.toml now; one that is added later holds at once."
    ]


def test_a_folder_that_is_trusted_no_more() -> None:
    result = {"path": "/a", "trusted": False, "changed": True}
    assert drawn(installation.trust, result, STEP, columns=120) == [
        "/a is not trusted any more.",
        "What its files choose (queries, scores, scopes, descriptions) is recalled from its own memories alone.",
        SHOWN_STEP,
    ]


@pytest.mark.parametrize(
    ("installed", "changed", "said"),
    [
        (True, True, "is in /c."),
        (True, False, "is in /c already."),
        (False, True, "is not in /c."),
        (False, False, "is not in /c, and was not."),
    ],
)
def test_where_a_completion_is(installed: bool, changed: bool, said: str) -> None:
    result = {"shell": "zsh", "path": "/c", "installed": installed, "changed": changed, "note": ""}
    assert drawn(installation.completion, result) == [f"The completion of zsh {said}"]
    assert drawn(installation.completion, {**result, "note": "Open a new shell."})[1:] == ["Open a new shell."]


def from_folder(**about: Any) -> dict[str, object]:
    base = {
        "file": "c.toml", "trusted": True, "fault": "", "scopes": [], "inForce": {}, "withheld": [], "never": [],
        **about,
    }  # fmt: skip
    return installation._project_file(base)


def test_what_the_current_folder_s_file_decides() -> None:
    assert installation._project_file(None) == {}
    named = {"folder's file": "c.toml (trusted)"}
    assert from_folder() == {**named, "  from there": "nothing"}
    assert from_folder(fault="is no TOML") == {**named, "  left out": "it is no TOML"}
    chosen = {"inForce": {"recall.limit": 7}, "scopes": ["api"], "withheld": ["x", "y"], "never": ["z", "a"]}
    rest = {
        "  withheld": "x, y (until joelclaw trust)",
        "  never from there": "z, a (your own file and environment only)",
    }
    said = "recall.limit = 7; scopes.api"
    assert from_folder(**chosen) == {**named, "  from there": said, **rest}
    named = {"folder's file": "c.toml (not trusted)"}
    alone = f"{said} (for this project's own memories alone)"
    assert from_folder(**chosen, trusted=False) == {**named, "  from there": alone, **rest}
    assert from_folder(trusted=False) == {**named, "  from there": "nothing"}


def test_a_file_of_ours_that_comes_or_goes_as_a_whole() -> None:
    one = {"path": "/p", "what": "the plugin", "bytes": 2048, "diff": "--- /dev/null\n+++ /p\n"}
    assert installation.told(one) == "+ /p (2.0 KiB): the plugin\n"
    assert installation.told({**one, "diff": "--- /p\n+++ /dev/null\n"}) == "- /p (2.0 KiB): the plugin\n"
    assert installation.told({**one, "what": ""}) == one["diff"]


def test_backups_that_are_left_are_named_once() -> None:
    done = {
        "agent": "pi", "path": "/p", "changed": True, "diff": "", "notes": [], "backup": "/p.1",
        "backupsLeft": ["/p.1", "/p.2"],
    }  # fmt: skip
    assert drawn(installation.changes, {"dryRun": False, "agents": [done], "skipped": []}) == [
        "pi done /p", "  as it was: /p.1", "  left, delete it when you like: /p.2",
    ]  # fmt: skip


def test_where_nothing_is_wrong_the_verdict_is_green() -> None:
    shown = styles(switch.switched, {"off": False, "changed": True, "scope": "session", "name": "s", "chosenBy": ""})
    assert shown == {"the session s is on.": "green"}
