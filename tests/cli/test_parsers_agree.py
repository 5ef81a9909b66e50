"""Our parser reads a call as Typer would, and a parameter accepts the values that its declaration allows."""

import runpy
from typing import Any

import pytest
from conftest import ROOT
from hypothesis import example, given, settings
from hypothesis import strategies as st

import clients
from cli import parser, reference
from cli.declarations import called, every_command
from cli.input import CLIENT_VARIABLES, required_session
from cli.parser import Command, Parameter, take_json_flag
from core.errors import Failure

GENERATED = runpy.run_path(str(ROOT / "docs" / "commands_page.py"))
COMMANDS = [command for path, command in every_command().items() if path != "hook"]
ODD_WORDS = st.sampled_from(
    "- -- --- -1 -5.5 --5 -x -nx -n5 -n=5 --nope --nope=1 --raw= = --raw=true --= --limit --limit= –limit -é --é=x "
    "--json --json=1 --help -h write recall a=b 0 5 +5 1e3 1_000 ٣ nan inf 0x10 true TRUE off 日本語 🔴 \ufffd {} "
    "[bold]x[/bold] %s ' \" $HOME ~ * @file".split()
)
SPACED_WORDS = st.sampled_from(["", " 5", "5 ", "a\nb", "\x00", "- a bullet", "-5 degrees", "-n 5"])
TEXTS = st.one_of(ODD_WORDS, SPACED_WORDS, st.text(max_size=12), st.integers().map(str), st.floats().map(str))


def values(parameter: Parameter) -> st.SearchStrategy[str]:
    """Mostly values that the parameter accepts, so that many calls can be compared."""
    if parameter.choices:
        fitting: st.SearchStrategy[str] = st.sampled_from(parameter.choices)
    elif parameter.kind == "truth":
        fitting = st.sampled_from(["true", "false", "1", "0", "YES", "Off"])
    elif parameter.kind == "whole":
        low = int(parameter.low or 0)
        fitting = st.integers(low, int(parameter.high or low + 1000)).map(str)
    elif parameter.kind == "number":
        fitting = st.floats(parameter.low or 0, parameter.high or 1e6).map(repr)
    else:
        return TEXTS
    return st.one_of(fitting, fitting, fitting, TEXTS)


@st.composite
def pieces(draw: st.DrawFn, command: Command) -> list[str]:
    """An option with or without its value, an argument, or something odd."""
    kind = draw(st.sampled_from(["option", "option", "option", "argument", "odd"]))
    options = [parameter for parameter in command.parameters if parameter.flags]
    if kind == "odd":
        return [draw(ODD_WORDS)]
    if kind == "argument" or not options:
        return [draw(TEXTS)]
    parameter = draw(st.sampled_from(options))
    flag = draw(st.sampled_from(parameter.flags))
    if parameter.kind == "flag":
        return [flag]
    value = draw(values(parameter))
    style = draw(st.sampled_from(["apart", "apart", "joined", "glued", "missing"]))
    if style == "joined" and flag.startswith("--"):
        return [f"{flag}={value}"]
    if style == "glued" and not flag.startswith("--"):
        return [flag + value]
    return [flag] if style == "missing" else [flag, value]


@st.composite
def calls(draw: st.DrawFn) -> list[str]:
    command = draw(st.sampled_from(COMMANDS))
    words = [word for piece in draw(st.lists(pieces(command), max_size=5)) for word in piece]
    for _ in range(draw(st.integers(0, 1))):
        words.insert(draw(st.integers(0, len(words))), draw(st.sampled_from(["--json", "--"])))
    return [*command.path.split(), *words]


def read(words: list[str]) -> dict[str, Any] | None:
    command = called(words)
    assert command is not None
    try:
        return parser.parse(command, words[len(command.path.split()) :])
    except Failure:
        return None


def read_by_typer(words: list[str]) -> dict[str, Any]:
    """The values that Typer passes to the command's function, which is not called."""
    command: Any = called(words)
    context = reference.typer_command(words[0]).make_context("joelclaw", list(words))
    group_words = [*context._protected_args, *context.args]
    command_ = context.command
    while hasattr(command_, "commands"):
        name, command_, group_words = command_.resolve_command(context, group_words)
        context = command_.make_context(name, group_words, parent=context)
        group_words = [*getattr(context, "_protected_args", []), *context.args]
    missing = {parameter.name: [] for parameter in command.parameters if parameter.many}
    return {name: missing.get(name) if value in (None, ()) else value for name, value in context.params.items()}


def typed(options: dict[str, Any]) -> dict[str, Any]:
    """Values with their types: 1, 1.0 and True are different."""
    return {
        name: [*value] if isinstance(value, (list, tuple)) else (float(value) if isinstance(value, float) else value)
        for name, value in options.items()
    }


@settings(max_examples=60)
@given(calls())
@example(["recall", "--session", "--help"])
@example(["recall", "--", "--json"])
@example(["recall", "", "-"])
@example(["recall", "why", "--limit", "3", "not"])
@example(["vault", "adr", "locate", "a", "b"])
@example(["checkpoint", "save", "--message", "--", "--message", "--file"])
@example(["otel", "emit", "--metadata", "--json"])
@example(["memory", "purge", "a", "--dry-run"])
@example(["otel", "search", "-v", "-n5"])
def test_typer_parses_the_same_values(argv: list[str]) -> None:
    words, _ = take_json_flag(argv)
    options = read(words)
    if options is not None and not needs_our_parser(words, options):
        assert typed(read_by_typer(words)) == typed(options)


def needs_our_parser(words: list[str], options: dict[str, Any]) -> bool:
    """Whether a text begins with a dash or `--success` may have no value: Typer does not read that."""
    command: Any = called(words)
    arguments = [options[parameter.name] for parameter in command.parameters if not parameter.flags]
    texts = [text for value in arguments for text in (value if isinstance(value, list) else [value])]
    return any(word.startswith("--success") for word in words) or any(
        isinstance(text, str) and text[:1] == "-" for text in texts
    )


@pytest.mark.parametrize(("words", "options"), [
    ("recall --limit=3 -c ops why not", {"query": ["why", "not"], "limit": 3, "category": "ops"}),
    ("recall why --min-score 0.5 --raw", {"query": ["why"], "min_score": 0.5, "raw": True}),
    ("recall -- --raw", {"query": ["--raw"]}),
    ("recall --limit 2 --limit 4 x", {"query": ["x"], "limit": 4}),
    ("memory write -t a,b - -s me", {"text": "-", "tags": "a,b", "source": "me"}),
    (
        "otel emit a.b --success FALSE --duration-ms 1.5",
        {"action_word": "a.b", "success": False, "duration_ms": 1.5},
    ),
    ("checkpoint save -m one --message two --session s", {"message": ["one", "two"], "session": "s"}),
    ("otel emit --success --level warn a", {"action_word": "a", "success": True, "level": "warn"}),
    ("memory edit a --unpin", {"id": "a", "pin": False}),
    ("recall x -n5", {"query": ["x"], "limit": 5}),
    ("recall x --session --help", {"query": ["x"], "session": "--help"}),
    ("recall --adapter x why", {"query": ["why"]}),
    ("fix boom -n 1", {"query": ["boom"], "limit": 1}),
    ("fix boom -n7 again --raw", {"query": ["boom", "again"], "limit": 7, "raw": True}),
    ("how head -- -n 2 --raw", {"query": ["head", "-n", "2", "--raw"], "limit": 5}),
])  # fmt: skip
def test_options_of_ordinary_calls(words: str, options: dict[str, Any]) -> None:
    command: Any = called(words.split())
    defaults = {parameter.name: [] if parameter.many else parameter.default for parameter in command.parameters}
    assert read(words.split()) == {**defaults, **options}


def test_details_of_a_note_are_options_of_their_own() -> None:
    of_turn = "knowledge note --source cli --agent me --session s1 --turn 0".split()
    assert read(of_turn[:-2]) is None
    options = read([*of_turn, "--decision", "wait", "--detail", "project=a", "--run-id=7"])
    assert options and options["detail"] == ["decision=wait", "project=a", "run-id=7"]


def test_the_hot_table_is_generated_from_the_declarations() -> None:
    assert (ROOT / "cli" / "hot_table.py").read_text() == GENERATED["hot_table"](), "run make docs"


def test_a_session_is_given_or_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("PI_SESSION_HANDLE", "SLOG_SESSION_ID", "JOELCLAW_SESSION_ID")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Failure, match="no session was given"):
        required_session(" ")
    for count, name in enumerate(names):
        monkeypatch.setenv(name, f" s{count} ")
        assert required_session(None) == f"s{count}", "each goes before the one set above"
    assert required_session("given") == "given"


def test_the_variables_of_all_clients_are_listed() -> None:
    assert set(CLIENT_VARIABLES) == {client.session_variable for client in clients.with_hooks()} - {""}
