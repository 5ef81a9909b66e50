"""What is wrong with the words of a call, word for word, and what the words of a call stand for."""

from __future__ import annotations

from typing import Any

import pytest

from cli import commands, front, main
from cli.parameter import Command, Parameter
from cli.unread_calls import misuse, outside, plain_help
from core.errors import Failure

GO = Command(
    "go",
    "m:f",
    "Go.",
    (
        Parameter("query", (), "what", required=True, metavar="QUERY"),
        Parameter("limit", ("--limit", "-n"), "most", kind="whole", low=1, high=9),
        Parameter("tag", ("--tag",), "tags", many=True),
        Parameter("all", ("--all",), "all", kind="flag"),
        Parameter("good", ("--good",), "good", kind="truth"),
    ),
    code="GO",
)
PAIR = Command(
    "pair",
    "m:f",
    "Take two.",
    (
        Parameter("all", ("--all",), "all", kind="flag"),
        Parameter("one", (), "one", required=True),
        Parameter("limit", ("--limit",), "most", kind="whole"),
        Parameter("two", (), "two", kind="whole"),
    ),
)
EVERY = Command("every", "m:f", "Take all.", (Parameter("ids", (), "ids", many=True, metavar="ID"),))


def wrong(*words: str) -> tuple[str, str, str] | None:
    found = misuse.of_call(words)
    return None if found is None else (found.code, found.message, found.fix)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "Missing argument 'QUERY'."),
        ("q --limit", "Option '--limit' requires an argument."),
        ("q --limit 10", "--limit is '10', which is not a whole number from 1 to 9"),
        ("q --limit 10 --limit 9", None),
        ("q --limit 9 -n 10", "--limit is '10', which is not a whole number from 1 to 9"),
        ("q --all=1", "Option '--all' does not take a value."),
        ("q --good=maybe", "--good is 'maybe', which is not true or false"),
        ("q --good --all", None),
        ("q r", "Got unexpected extra argument (r)"),
        ("q r s", "Got unexpected extra arguments (r s)"),
        ("-- --limit --all", "Got unexpected extra argument (--all)"),
        ("-", None),
        ("q -xyz", None),
        ("q --limt 3", "No such option: --limt Did you mean --limit?"),
        ("q --zzzzzz", "No such option: --zzzzzz"),
        ("q --tag a --tag b", None),
    ],
)
def test_what_is_wrong_with_the_words_of_a_command(words: str, message: str | None) -> None:
    given = words.split()
    found = misuse._of_command(GO, ["go", *given], given)
    assert (None if found is None else found.message) == message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--help",), None), (("recall", "-h", "--nope"), None), (("otel", "--version"), None),
        (("--nope=1",), "No such option: --nope"), (("--",), None), (("-x",), None),
        (("otel", "--nope"), "No such option: --nope"), (("otel", "-x"), None),
        (("qqqqqqq",), "No such command 'qqqqqqq'."), (("otel", "qqqqqqq"), "No such command 'qqqqqqq'."),
    ],
)  # fmt: skip
def test_what_is_wrong_where_no_command_is_named(words: tuple[str, ...], message: str | None) -> None:
    found = wrong(*words)
    assert (found and found[1]) == message


def test_the_commands_that_there_are_instead() -> None:
    inside = [command.path for command in commands.every() if command.path.startswith("idle ")]
    assert wrong("idle", "qqqqqqq") == ("USAGE", "No such command 'qqqqqqq'.", f"use one of: {', '.join(inside)}")
    assert wrong("idle", "lst") == ("USAGE", "there is no command 'idle lst'", "did you mean `joelclaw idle list`?")
    assert wrong("statsu", "x") == ("USAGE", "there is no command 'statsu'", "did you mean `joelclaw status`?")


def test_an_unknown_option_may_be_what_is_looked_for() -> None:
    code, message, fix = wrong("recall", "--qqqqqqq", "lease", "--limit", "3") or ("", "", "")
    assert (code, message) == ("RECALL_INVALID_ARGS", "No such option: --qqqqqqq")
    assert fix == (
        "to look for it: joelclaw recall --limit 3 -- '--qqqqqqq lease'; see what it takes: joelclaw recall --help"
    )
    assert (wrong("recall", "lease", "--limit=3", "raise") or ("", "", ""))[2] == (
        "put it in quotes: joelclaw recall --limit=3 'lease raise'"
    )
    see = "see what it takes: joelclaw recall --help"
    assert (wrong("recall", "lease", "--limit") or ("", "", ""))[2] == see
    assert (wrong("recall", "lease", "--limt", "3") or ("", "", ""))[2] == see, "one like it is meant"
    assert (wrong("status", "now") or ("", "", ""))[2] == "see what it takes: joelclaw status --help"


@pytest.mark.parametrize(
    ("word", "shown"), [("x" * 60, "x" * 60), ("x" * 61, "x" * 59 + "…"), ("a\x1b\n", "a\ufffd\ufffd"), ("", "")]
)
def test_a_word_is_shown_up_to_its_sixtieth_character(word: str, shown: str) -> None:
    assert misuse.shown(word) == shown
    assert misuse.named([word]) == f"joelclaw {shown}"


def test_the_command_that_words_begin_with() -> None:
    names = {"memory write x": "memory write", "memory": "memory", "memory zzz": "memory", "recall write": "recall",
             "zzz memory": "", "": ""}  # fmt: skip
    assert {words: misuse.path_of(words.split()) for words in names} == names


@pytest.mark.parametrize(
    ("words", "spelt"),
    [
        ("--good", "--good true"), ("--good x", "--good x"), ("--good --all", "--good true --all"),
        ("--good -", "--good true -"), ("--limit --good", "--limit --good"), ("-- --good", "-- --good"),
        ("--limit", "--limit"), ("--all --good", "--all --good true"),
        ("q --limit 3 --good", "q --limit 3 --good true"),
    ],
)  # fmt: skip
def test_a_bare_truth_is_true(words: str, spelt: str) -> None:
    assert front.spelled_out(GO, words.split()) == spelt.split()


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("q", {}), ("-- --all", {"query": "--all"}), ("- -n 3", {"query": "-", "limit": 3}),
        ("q --tag a --tag=b --all --good", {"tag": ["a", "b"], "all": True, "good": True}),
        ("q --good no --limit=9", {"good": False, "limit": 9}), ("q --limit 3 --limit 4", {"limit": 4}),
        ("q --tag=a=b", {"tag": ["a=b"]}),
        ("", None), ("q r", None), ("q --limit", None), ("q --limit 10", None), ("q --all=1", None), ("q --zzz", None),
        ("q -n3", None), ("q -n=3", None),
    ],
)  # fmt: skip
def test_the_options_that_words_give(words: str, given: dict[str, Any] | None) -> None:
    nothing = {"query": "q", "limit": None, "tag": [], "all": False, "good": None}
    assert front.parse(GO, words.split()) == (None if given is None else {**nothing, **given})


def test_a_command_that_takes_many_words_takes_all() -> None:
    assert front.parse(EVERY, ["a", "b"]) == {"ids": ["a", "b"]}
    assert front.parse(EVERY, []) == {"ids": []}
    assert misuse._of_command(EVERY, ["every", "a", "b"], ["a", "b"]) is None


def test_words_that_stand_between_options() -> None:
    nothing = {"all": False, "one": None, "limit": None, "two": None}
    assert front.parse(PAIR, ["a", "--all", "7"]) == {**nothing, "one": "a", "two": 7, "all": True}
    assert front.parse(PAIR, ["a"]) == {**nothing, "one": "a"}
    for words in (["--all"], ["a", "b"], ["a", "7", "8"]):
        assert front.parse(PAIR, words) is None
        assert misuse._of_command(PAIR, ["pair", *words], words) is not None
    assert misuse._of_command(PAIR, ["pair", "a", "7"], ["a", "7"]) is None


def test_json_may_be_asked_for_before_two_dashes() -> None:
    taken = {
        "recall x": (["recall", "x"], False), "--json recall": (["recall"], True), "recall --toon": (["recall"], True),
        "recall -- --json": (["recall", "--", "--json"], False), "--json --": (["--"], True), "": ([], False),
    }  # fmt: skip
    assert {words: main.take_json_flag(words.split()) for words in taken} == taken


def test_the_mirrored_second_names() -> None:
    names = {"session search x": "sessions search x", "session show x": "session show x", "session": "session",
             "memory search x": "memory search x", "session chunks": "sessions chunks"}  # fmt: skip
    assert {words: " ".join(commands.real(words.split())) for words in names} == names


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("recall x", True), ("--json", True), ("status`", True), ("status.)", True), ("  on", True), ("", False),
        ("  ", False), ("is here", False), ("-h", False),
    ],
)  # fmt: skip
def test_whether_a_text_begins_with_a_command(text: str, begins: bool) -> None:
    assert commands.begins_one(text) is begins


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("vault adr audit x", "vault adr audit"), ("memory review", "memory review"), ("memory write", ""), ("", ""),
        ("event x", "event"), ("recall x --workstream=a", "recall"), ("recall --workstream", "recall"),
        ("recall x", ""), ("status", ""), ("zzz", ""), ("loop", "loop"), ("vault adr", ""),
    ],
)  # fmt: skip
def test_the_mirrored_calls_that_are_outside(words: str, name: str) -> None:
    assert outside.name_of(words.split()) == name
    assert (outside.failure(words.split()) is None) is (name == "")


def test_what_is_here_instead_of_a_mirrored_call() -> None:
    def told(words: str) -> tuple[str, str]:
        found = outside.failure(words.split())
        assert isinstance(found, Failure) and (found.code, found.exit_code) == ("NOT_MIRRORED", 2)
        return found.message, found.fix.rpartition(": ")[2]

    bus, stores = "the event bus and its workers", "which asks three stores of its own"
    assert told("events x") == (f"`joelclaw events` belongs to {bus}", "joelclaw otel list")
    assert told("deploy") == (f"`joelclaw deploy` belongs to {bus}", "joelclaw --help")
    assert told("vault adr rank")[1] == "joelclaw vault adr list"
    assert told("recall x -n 3 --workstream=a")[0] == f"--workstream is of the original's later recall, {stores}"


def test_a_long_name_has_its_help_on_the_next_line() -> None:
    rows = [("n" * 30, "about"), ("m" * 31, "more"), ("a", "less")]
    assert list(plain_help._rows(rows)) == [
        f"  {'n' * 30}  about",
        f"  {'m' * 31}",
        f"  {'':32}more",
        f"  {'a':32}less",
    ]
    assert list(plain_help._rows([("ab", "x"), ("c", "y")])) == ["  ab  x", "  c   y"]
    assert plain_help.text("zzz") == ""
    assert plain_help.text("").endswith(f"\n\n{plain_help.AFTER}\n") and plain_help.AFTER not in plain_help.text("otel")
