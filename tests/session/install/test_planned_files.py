"""What an installation plans for one file: its change in words, what is ours of it, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clients import registry
from core.errors import Failure
from session.install import hook_entries, own_file, plan
from session.install.json_nodes import Malformed
from session.install.json_parts import Part, Traces
from session.install.plan import Plan

CLAUDE, CODEX, GEMINI, PI = (registry.row(name).settings() for name in ("claude", "codex", "gemini", "pi"))


def planned(before: bytes | None, after: bytes | None, what: str = "") -> Plan:
    return Plan(CLAUDE, False, "/f", "/f", before, after, None, what=what)


def test_a_change_is_shown_as_a_diff() -> None:
    assert planned(b"a\n", b"a\nb").diff() == "--- /f\n+++ /f\n@@ -1 +1,2 @@\n a\n+b\n\\ No newline at end of file\n"
    assert planned(None, b"a\n").diff() == "--- /dev/null\n+++ /f\n@@ -0,0 +1 @@\n+a\n"
    assert planned(b"a\n", None).diff() == "--- /f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert planned(b"a\n", b"a\n").diff() == ""
    assert planned(None, b"a\n", "ours").diff(whole=False) == "--- /dev/null\n+++ /f\n"
    assert planned(None, b"a\n").diff(whole=False).count("\n") == 4


@pytest.mark.parametrize(
    ("before", "after", "what", "changed", "whole"),
    [
        (b"a", b"b", "ours", True, False), (None, b"b", "ours", True, True), (b"a", None, "ours", True, True),
        (None, b"b", "", True, False), (None, None, "ours", False, False), (b"a", b"a", "ours", False, False),
    ],
)  # fmt: skip
def test_a_file_of_ours_comes_or_goes_as_a_whole(
    before: bytes | None, after: bytes | None, what: str, changed: bool, whole: bool
) -> None:
    one = planned(before, after, what)
    assert (one.changed, one.is_whole) == (changed, whole)


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ('x\nconst JOELCLAW = "/o/joelclaw";\ny', "/o/joelclaw"), ('const JOELCLAW = "a b"', "a b"),
        ("const OTHER = 1", ""),
        ("const JOELCLAW = half", ""), (' const JOELCLAW = "x";', ""),
    ],
)  # fmt: skip
def test_an_extension_of_ours_names_what_it_calls(text: str, called: str) -> None:
    assert plan.called_by(text) == called


def test_an_extension_has_our_path_in_it_once() -> None:
    text = plan.extension(PI, '/a "b"\\1/joelclaw')
    assert plan.called_by(text) == '/a "b"\\1/joelclaw'
    assert text.count("\nconst JOELCLAW = ") == 1


def test_a_file_that_cannot_be_taken_for_text_of_fair_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    assert plan.read(str(path)) is None
    monkeypatch.setattr(plan, "_LARGEST", 10)
    path.write_bytes(b"x" * 10)
    assert plan.read(str(path)) == b"x" * 10
    path.write_bytes(b"x" * 11)
    for wrong, told in ((path, "is larger than 16 MiB"), (tmp_path, "is no file")):
        with pytest.raises(Failure) as failed:
            plan.read(str(wrong))
        assert failed.value.message == f"{wrong} {told}"
    assert plan.decoded("/f", None) == ""
    with pytest.raises(Failure) as failed:
        plan.decoded("/f", b"ab\xff")
    assert failed.value.message == "/f is not UTF-8 (byte 2)"


def test_what_a_client_reads_is_said_where_a_file_is_refused() -> None:
    fixes = [plan.refused("/f", client, Malformed("x"), what).fix for client, what in (
        (GEMINI, ""), (CLAUDE, ""), (CODEX, "TOML"))]  # fmt: skip
    assert fixes == [
        f"mend /f ({name} reads {what}) and run this again; nothing was changed"
        for name, what in (("gemini", "JSON, comments allowed"), ("claude", "plain JSON"), ("codex", "TOML"))
    ]


@pytest.mark.parametrize("path", ["joelclaw", "/o/joelclaw", "/a b/it's/joelclaw", '/a"b/joelclaw'])
@pytest.mark.parametrize("client", [CLAUDE, CODEX, GEMINI], ids=lambda client: client.name)
def test_a_file_of_ours_is_known_with_whatever_path_of_the_command(client: Any, path: str) -> None:
    for file, text in own_file.files(client, path, project=False):
        assert own_file.is_written(client, file, text, project=False)
        assert not own_file.is_written(client, file, text + "x", project=False)
        assert not own_file.is_written(client, file, text.replace("joelclaw", "other"), project=False)
        assert own_file.what(client, file).startswith("a skill" if file.endswith("SKILL.md") else "rules")


def test_a_repository_decides_no_rules() -> None:
    assert [len(list(own_file.files(CODEX, "joelclaw", project=project))) for project in (False, True)] == [2, 1]
    assert own_file.commands("joelclaw") == (("joelclaw", "recall"),)
    assert own_file.rules(CLAUDE, "/a b/joelclaw") == [
        "Bash(joelclaw recall:*)", "Bash('/a b/joelclaw' recall:*)",
    ]  # fmt: skip


OURS = '{"hooks": [{"type": "command", "command": "joelclaw hook claude"}]}'
MIXED = '{"hooks": [{"command": "theirs"}, {"type": "command", "command": "joelclaw hook claude"}]}'


@pytest.mark.parametrize(
    ("groups", "others", "left"),
    [
        (OURS, None, "{}"),
        (f"{OURS}, {OURS}", None, "{}"),
        (MIXED, [{"hooks": [{"command": "theirs"}]}], '{"hooks": {"Stop": [{"hooks": [{"command": "theirs"}]}]}}'),
        (f'{OURS[:-1]}, "mine": 1}}', [{"hooks": [], "mine": 1}], '{"hooks": {"Stop": [{"hooks": [], "mine": 1}]}}'),
        (f'{OURS[:-1]}, "matcher": ""}}', None, "{}"),
        ('"x"', ["x"], '{"hooks": {"Stop": ["x"]}}'),
    ],
)
def test_what_is_ours_in_an_event_goes_and_what_is_not_stays(groups: str, others: Any, left: str) -> None:
    text = f'{{"hooks": {{"Stop": [{groups}]}}}}'
    assert hook_entries.others(text, CLAUDE) == ({} if others is None else {"hooks": {"Stop": others}})
    assert hook_entries.take_out(text, CLAUDE, None) == (left, left == "{}")
    assert hook_entries.is_in(text, CLAUDE) is (groups != '"x"')


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "the file holds no object"), ('{"hooks": []}', "`hooks` is no object"),
        ('{"hooks": {"Stop": {}}}', "`hooks.Stop` is no list"),
        ('{"hooks": {"Stop": [{"hooks": [], "hooks": []}]}}', "the key 'hooks' is there twice"),
    ],
)  # fmt: skip
def test_what_a_client_would_not_read_is_refused(text: str, told: str) -> None:
    for act in (lambda: hook_entries.is_in(text, CLAUDE), lambda: hook_entries.take_out(text, CLAUDE, None),
                lambda: hook_entries.entered(text, CLAUDE)):  # fmt: skip
        with pytest.raises(Malformed) as refused:
            act()
        assert str(refused.value) == told
    assert hook_entries.is_in('{"hooks": {"Unknown": {}}}', CLAUDE) is False


def test_our_entries_are_named_with_their_places() -> None:
    text = f'\ufeff{{"hooks": {{"Stop": ["x", {MIXED}], "Other": [{OURS}]}}}}'
    found = hook_entries.entered(text, CLAUDE)
    assert [(place.event, place.group, place.position, command) for place, command in found] == [
        ("Stop", 1, 1, "joelclaw hook claude"), ("Other", 0, 0, "joelclaw hook claude"),
    ]  # fmt: skip
    assert hook_entries.entered(" \n", CLAUDE) == []
    assert hook_entries.foreign_calls(text.replace("theirs", "x; joelclaw hook claude"), CLAUDE) == ["Stop"]
    assert hook_entries.foreign_calls(text, CLAUDE) == []


def test_an_empty_file_is_filled_and_is_empty_again() -> None:
    for start in ("", " \n", "\ufeff", "\ufeff\n"):
        text, traces = hook_entries.put_in(start, CLAUDE, "joelclaw", None)
        assert traces.blank == start.removeprefix("\ufeff")
        assert hook_entries.take_out(text, CLAUDE, traces) == (start, True)
    assert hook_entries.take_out("\ufeff ", CLAUDE, Traces()) == ("\ufeff ", False)
    assert hook_entries.take_out("{}", CLAUDE, None) == ("{}", False), "nothing of ours was there"


def test_a_server_of_somebody_s_under_our_name_is_foreign() -> None:
    part = Part(("mcpServers",), "joelclaw", ({"command": "joelclaw", "args": ["mcp"]},))
    for text, foreign in (
        ("", False), ("{}", False), ('{"mcpServers": {"joelclaw": {"command": "x"}}}', True),
        ('{"mcpServers": {"joelclaw": {"command": "/o/joelclaw", "args": ["mcp"]}}}', False),
    ):  # fmt: skip
        assert hook_entries.is_foreign(text, CLAUDE, part) is foreign
        assert hook_entries.is_in(text, CLAUDE, [part], hooks=False) is ("/o/" in text)
