"""Our server in Codex's `config.toml`: others write between our marks, and only what is word for word ours is taken."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW
from test_install import Install, install, project, user

from session.install import toml_block
from session.install.json_nodes import Malformed

__all__ = ["install", "project", "user"]

CONFIG = ".codex/config.toml"
END = "# joelclaw: end\n"
THEIRS = '[projects."/x"]\ntrust_level = "trusted"\n'
MEANT = {"projects": {"/x": {"trust_level": "trusted"}}}
OLD = "/old/bin/joelclaw"


@pytest.fixture
def config(user: Path) -> Path:
    path = user / CONFIG
    path.parent.mkdir()
    return path


def meaning(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


def inside(path: Path, text: str) -> None:
    """Write as an editor does that puts a new table in front of the comment at the end."""
    before = path.read_text()
    assert before.endswith(END)
    path.write_text(before.removesuffix(END) + text + END)


@pytest.mark.parametrize("start", ["", 'model = "x"\n', 'model = "x"', 'model = "x"\n\n[a]\nb = 1\n'])
def test_what_codex_wrote_in_front_of_our_end_stays(install: Install, config: Path, start: str) -> None:
    config.write_text(start)
    install("codex", "--mcp")
    inside(config, THEIRS)
    install("codex", verb="uninstall")
    assert meaning(config) == {**tomllib.loads(start), **MEANT}
    assert THEIRS in config.read_text() and "joelclaw" not in config.read_text()


def test_an_upgrade_replaces_our_lines_alone(install: Install, config: Path) -> None:
    install("codex", "--mcp")
    inside(config, "\n" + THEIRS)
    config.write_text(config.read_text().replace(JOELCLAW, OLD))
    wanted = config.read_text().replace(OLD, JOELCLAW)
    assert install("codex")["agents"][0]["changed"] is True
    assert config.read_text() == wanted
    assert install("codex")["agents"][0]["changed"] is False


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_are_never_joined(install: Install, config: Path, newline: str) -> None:
    config.write_bytes(f'a = 1{newline}command = "foo"'.encode())
    install("codex", "--mcp")
    with config.open("ab") as file:
        file.write(THEIRS.replace("\n", newline).encode())
    install("codex", verb="uninstall")
    assert meaning(config) == {"a": 1, "command": "foo", **MEANT}


EDITED = {
    "another command": lambda text: text.replace(JOELCLAW, "/my/wrapper"),
    "a comment in it": lambda text: text.replace('args = ["mcp"]', 'args = ["mcp"] # mine'),
    "a key more": lambda text: text.replace(END, "startup_timeout_sec = 30\n" + END),
    "a table of it": lambda text: text.replace(
        END, '[mcp_servers.joelclaw.tools.recall]\napproval_mode = "approve"\n' + END
    ),
}

OURS_EDITED = ("another command", "a comment in it")
"""What an installation cannot bring up to date either."""


@pytest.mark.parametrize("what", EDITED)
def test_a_server_that_somebody_edited_is_left_and_told(install: Install, config: Path, what: str) -> None:
    install("codex", "--mcp")
    text = EDITED[what](config.read_text())
    config.write_text(text)
    tomllib.loads(text)
    for verb in ("install", "uninstall"):
        notes = install("codex", verb=verb)["agents"][0]["notes"]
        assert config.read_text() == text
        told = any("changed by somebody" in note and str(config) in note for note in notes)
        assert told == (verb == "uninstall" or what in OURS_EDITED)


def test_an_edited_server_is_upgraded_where_our_lines_stand(install: Install, config: Path) -> None:
    install("codex", "--mcp")
    config.write_text(EDITED["a key more"](config.read_text()).replace(JOELCLAW, OLD))
    install("codex")
    assert meaning(config)["mcp_servers"]["joelclaw"]["command"] == JOELCLAW
    assert meaning(config)["mcp_servers"]["joelclaw"]["startup_timeout_sec"] == 30


def test_a_mark_that_lost_its_server_goes(install: Install, config: Path) -> None:
    config.write_text('model = "x"\n')
    install("codex", "--mcp")
    config.write_text(f'model = "x"\n{THEIRS}{END}')  # `codex mcp remove` takes the comment in front with the table
    install("codex", verb="uninstall")
    assert config.read_text() == f'model = "x"\n{THEIRS}'


def test_what_would_change_for_others_is_not_written() -> None:
    for text in ("[a]\nb = 1\n", "a = [\n1,\n]\n", "", 'a = """\nx\n"""\n'):
        new, note = toml_block.put_in(text, JOELCLAW)
        assert note == "" and tomllib.loads(new)["mcp_servers"]["joelclaw"]["command"] == JOELCLAW
        assert toml_block.take_out(new) == (text, "")


BLOCK = (
    "# joelclaw: from here on entered by `joelclaw install`, and taken out by `joelclaw uninstall`\n"
    '[mcp_servers.joelclaw]\ncommand = "/o/joelclaw"\nargs = ["mcp"]\nenv_vars = ["JOELCLAW_HOME"]\n'
    "# joelclaw: end\n"
)
COMMAND = "/o/joelclaw"
CHANGED = "[mcp_servers.joelclaw] was changed by somebody; it was left as it is"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", BLOCK), ("a = 1", "a = 1\n" + BLOCK), ("a = 1\n", "a = 1\n\n" + BLOCK),
        ("a = 1\n\n", "a = 1\n\n\n" + BLOCK),
        ("a = 1\r\n", "a = 1\r\n\r\n" + BLOCK.replace("\n", "\r\n")), (END + "a = 1\n", "a = 1\n\n" + BLOCK),
        (BLOCK, BLOCK), ("a = 1\n" + BLOCK.replace("/o/", "/old/"), "a = 1\n" + BLOCK),
    ],
)  # fmt: skip
def test_our_lines_stand_behind_an_empty_one_at_the_end(text: str, wanted: str) -> None:
    assert toml_block.put_in(text, COMMAND) == (wanted, "")
    assert toml_block.is_in(wanted)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (BLOCK, ""), ("a = 1\n" + BLOCK, "a = 1"), ("a = 1\n\n" + BLOCK, "a = 1\n"),
        ("a = 1\n\n\n" + BLOCK, "a = 1\n\n"),
        ("a = 1\r\n\r\n" + BLOCK.replace("\n", "\r\n"), "a = 1\r\n"), ("a = 1\n\n" + BLOCK + "[b]\n", "a = 1\n[b]\n"),
        ("a = 1\n" + BLOCK + "[b]\n", "a = 1\n[b]\n"), (BLOCK + "[b]\n", "[b]\n"), ("a = 1\n" + END, "a = 1\n"),
        ("a = 1\n\n" + END + "[b]\n", "a = 1\n\n[b]\n"), ("a = 1\n\n", "a = 1\n\n"),
        (BLOCK.replace(END, "[b]\nc = 1\n" + END), "[b]\nc = 1\n"),
    ],
)  # fmt: skip
def test_taken_out_nothing_of_ours_is_left_and_no_empty_line(text: str, left: str) -> None:
    assert toml_block.take_out(text) == (left, "")
    assert not toml_block.is_in(left)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"/o/joelclaw"', '"/o/other"'), ('"/o/joelclaw"', '"/o/claw"'),
        ('"/o/joelclaw"', '"/o/joelclaw" # mine'), ('"/o/joelclaw"', "7"),
        ('"/o/joelclaw"', "'/o/joelclaw'"), ('"mcp"', '"mcp", "x"'), ("env_vars", "env"),
    ],
)  # fmt: skip
def test_lines_that_are_not_word_for_word_ours_are_left_and_told(old: str, new: str) -> None:
    text = BLOCK.replace(old, new, 1)
    assert toml_block.put_in(text, COMMAND) == toml_block.take_out(text) == (text, CHANGED)


@pytest.mark.parametrize("mark", ["", END, BLOCK.splitlines()[0]])
def test_a_server_that_is_not_behind_our_mark_is_somebody_s(mark: str) -> None:
    text = '[mcp_servers.joelclaw]\ncommand = "x"\n' + mark
    told = "a server `joelclaw` of somebody's is there; it was left as it is"
    assert toml_block.put_in(text, COMMAND) == (text, told)
    assert toml_block.take_out(text) == (text, "")


def test_a_server_in_a_table_on_one_line_is_left_and_told() -> None:
    text = BLOCK.splitlines()[0] + '\n[mcp_servers]\njoelclaw = { command = "/o/joelclaw" }\n'
    assert toml_block.put_in(text, COMMAND) == toml_block.take_out(text) == (text, CHANGED)


def test_what_is_no_toml_is_refused() -> None:
    for act in (lambda: toml_block.put_in("a = ", COMMAND), lambda: toml_block.take_out("a = ")):
        with pytest.raises(Malformed):
            act()
    with pytest.raises(Malformed, match="an edit would change what is not ours"):
        toml_block.put_in("mcp_servers = 7\n", COMMAND)


def test_a_path_stands_as_it_is_written() -> None:
    new, _ = toml_block.put_in("", "/hé/joelclaw")
    assert new == BLOCK.replace("/o/", "/hé/")
    assert toml_block.take_out(new) == ("", "")


@pytest.mark.parametrize(("line", "there"), [(END, True), (END.strip(), True), (" " + END, False), ("", False)])
def test_a_mark_of_ours_is_a_whole_line(line: str, there: bool) -> None:
    assert toml_block.is_in("a = 1\n" + line) is there
