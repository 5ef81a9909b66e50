"""`--help` everywhere, `--version`, the command tree, and the generated parts of the docs."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest
from cogapp import Cog  # type: ignore[import-untyped]
from conftest import ROOT, Run
from terminal import on_terminal, without_style

from cli.declarations import every_command, first_words, group_help
from cli.start import run_words

COMMANDS = every_command().values()
GROUPS = {word: about for word, about in first_words().items() if group_help(word)}


def test_every_command_has_help_with_all_its_parameters(capfd: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        assert run_words([*command.path.split(), "--help"], as_json=True) == 0
        text = capfd.readouterr().out
        assert text.startswith(f"Usage: joelclaw {command.path} ")
        flat = " ".join(text.split())
        # the help wraps lines at hyphens too
        assert command.help.replace("- ", "-")[:40] in flat.replace("- ", "-")
        for parameter in command.parameters:
            for word in (*parameter.flags, *(() if parameter.flags else (parameter.metavar,))):
                assert word in text
            assert all(choice in flat for choice in parameter.choices)


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_without_a_command_lists_its_commands(run: Run, group: str) -> None:
    envelope = run(group).json
    assert envelope["command"] == f"joelclaw {group}"
    result = envelope["result"]
    assert result["description"] == GROUPS[group]
    inside = [command.path for command in COMMANDS if command.path.startswith(group + " ")]
    assert [f"{group} {name}" for name in result["commands"]] == inside
    assert [action["command"].partition(" ")[2] for action in envelope["next_actions"]] == [
        f"{path} --help" for path in inside
    ]


def test_a_groups_help_lists_only_its_commands(run: Run, home: Path) -> None:
    assert run("memory", "--help").out.startswith("Usage: joelclaw memory ")
    shown = " ".join(without_style(on_terminal(home, "memory").out).split())
    assert "Usage: joelclaw memory " in shown and "Store an observation" in shown


def test_help_is_plain_in_a_pipe_and_drawn_on_a_terminal(run: Run, home: Path) -> None:
    assert "\x1b" not in run("recall", "--help").out
    drawn = on_terminal(home, "recall", "--help", env={"NO_COLOR": ""})
    assert drawn.code == 0
    assert "\x1b[" in drawn.out
    assert "╭" in drawn.out
    assert "\x1b[3" not in on_terminal(home, "memory", "import", "--help").out  # NO_COLOR


def test_version(run: Run) -> None:
    version = run("--version").out
    assert re.fullmatch(r"joelclaw \d+\.\d+\.\d+ \(python 3\.\d+\.\d+, sqlite 3\.\d+\.\d+\)\n", version)
    assert run("--version", "--help").out == version
    assert "--version" in run("--help").out


def test_without_arguments_a_program_gets_the_command_tree(run: Run) -> None:
    envelope = run().json
    assert envelope["ok"] is True
    tree = envelope["result"]["commands"]
    assert set(tree) == {command.path for command in COMMANDS}
    assert tree["recall"] == "joelclaw recall [QUERY] [options]"


def test_without_arguments_a_person_gets_help(home: Path) -> None:
    spawned = on_terminal(home)
    assert spawned.code == 0
    assert "Usage: joelclaw" in without_style(spawned.out)
    assert json.loads(on_terminal(home, "--json").out)["ok"] is True


def test_the_first_page_names_all_commands_in_columns_of_80(run: Run) -> None:
    page = run("--help").out
    assert page == run("-h").out and "--json" in page and "--version" in page
    assert max(map(len, page.splitlines())) <= 80
    assert all(f"\n  {name} " in page for name in {command.path.split()[0] for command in COMMANDS})


def test_no_two_parameters_of_a_command_share_a_name_or_a_flag() -> None:
    for command in COMMANDS:
        names = [parameter.name for parameter in command.parameters]
        flags = [flag for parameter in command.parameters for flag in parameter.flags]
        assert len(set(names)) == len(names)
        assert len(set(flags)) == len(flags)
        assert not {"--help", "-h", "--json", "--version"} & set(flags)
        assert command.help.endswith((".", "}", "`"))
        assert all(parameter.help for parameter in command.parameters)


def test_only_an_option_that_narrows_a_search_says_only() -> None:
    for path in ("memory forget", "memory observe"):
        (session,) = (of for of in every_command()[path].parameters if of.name == "session")
        assert not session.help.startswith("Only"), path


@pytest.mark.parametrize("page", ["cli", "configuration"])
def test_generated_pages_match_the_declarations(page: str) -> None:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = Cog().main(["cog", "--check", str(ROOT / "docs" / f"{page}.md")])
    assert code == 0, f"run `make docs`: {output.getvalue()}"
