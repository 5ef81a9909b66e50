"""`joelclaw status` and `doctor`: the state of the memory and its problems; and `completion`."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import clients
from cli.declarations import Commands, OneOf
from cli.output import Answer, runnable, step
from core.errors import FAILED, usage

if TYPE_CHECKING:
    from rich.console import Console

app = Commands()

CLIENT = OneOf(*clients.NAMES)

_ABSENT = {"ok": None, "detail": "not part of this joelclaw, which starts no service; `healthy` is its own verdict"}
_SERVICES = {"server": _ABSENT, "worker": _ABSENT, "agent_mail": _ABSENT, "latestAgentDispatchCanary": None}
"""The services in the `status` of the mirrored CLI, none of which exists here."""
_SIGNS = {"ok": ("✓ ", "green"), "note": ("· ", "dim"), "warning": ("! ", "yellow"), "error": ("✗ ", "bold red")}


@app.command("status")
def status() -> Answer:
    """Show the store, counts, versions, sessions and last events. Exits 0 even with `problems`."""
    from otel.log import host
    from session.doctor import run

    found = run()
    names = ("severity", "code", "message", "fix")
    problems = [
        {name: finding[name] for name in names} | {"fix": runnable(finding["fix"])}
        for finding in found["findings"]
        if finding["severity"] in ("error", "warning")
    ]
    result: dict[str, Any] = {"healthy": found["healthy"], "problems": problems, **found["facts"]}
    result |= {**_SERVICES, "k8s": {**_ABSENT, "status": "absent", "hostname": host(), "hostedOn": None}}
    actions = []
    if result["events"]["errors24h"]:
        actions.append(step("joelclaw otel list --level error,fatal", "what went wrong today"))
    if not result["store"]["exists"]:
        actions.append(step("joelclaw install --list", "what is installed where"))
        actions.append(step("joelclaw memory archive", "archive the sessions that your clients already have"))
    elif result["healthy"]:
        actions.append(step("joelclaw memory list", "the observations"))
    return Answer(result, actions, view=draw_status)


@app.command("doctor")
def doctor(
    client: Annotated[
        list[str] | None, typer.Option(metavar=CLIENT.metavar, parser=CLIENT, help="Only this client")
    ] = None,
    project: Annotated[bool, typer.Option("--project", help="This project's hooks instead of the user's")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Make the repairs that are safe")] = False,
) -> Answer:
    """Find out why nothing is remembered. Exits 1 if something does not work."""
    from session.doctor import FIXABLE, run

    result = run(client or [], project=project, fix=fix)
    del result["facts"]
    for finding in result["findings"]:
        finding["fix"] = runnable(finding["fix"])
    left = {finding["code"] for finding in result["findings"] if finding["severity"] != "ok"}
    actions = []
    if left & FIXABLE and not fix:
        options = "".join(f" --client {name}" for name in client or []) + " --project" * project
        actions = [step(f"joelclaw doctor{options} --fix", "make the repairs that are safe")]
    elif left & {"HOOK_FAILED", "HOOK_LATE"}:
        actions = [step("joelclaw otel search hook --level warn,error", "what the hooks reported")]
    return Answer(result, actions, view=draw_doctor, exit_code=0 if result["healthy"] else FAILED)


# completion

_SCRIPTS = {"bash": "joelclaw.bash", "zsh": "_joelclaw", "fish": "joelclaw.fish"}
_COMMON_OPTIONS = {"--json": "One JSON object on stdout", "--help": "What this command takes", "-h": "The same"}
FILES = "@files"  # offered instead of words: the shell completes a path
_FILE_METAVARS = ("FILE", "DIR", "PATH", "FOLDER", "TRANSCRIPT", "SESSION")


@app.command("completion")
def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"] | None,
        typer.Argument(metavar="SHELL", help="bash, zsh or fish (default: that of $SHELL)"),
    ] = None,
    offer: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Instead print completions of the last of these words")
    ] = None,
) -> Answer:
    """Print the completion script of a shell, to be evaluated: eval "$(joelclaw completion bash)"."""
    if offer:
        *before, word = offer
        word = "" if word == "=" else word  # bash passes `--budget=lean` as three words
        offers = completions(before, word)
        rows = [f"{text}\t{about}".rstrip() for text, about in offers.items() if text.startswith((word, FILES))]
        return Answer(None, text="\n".join(rows))
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    if name not in _SCRIPTS:
        about = f"$SHELL is {name}, for which there is no script" if name else "$SHELL names no shell"
        raise usage("COMPLETION_INVALID_ARGS", about, "run: joelclaw completion bash (or zsh, or fish)")
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    with open(os.path.join(root, "completions", _SCRIPTS[name]), encoding="utf-8") as file:
        return Answer(None, text=file.read().rstrip("\n"))


def completions(before: list[str], word: str) -> dict[str, str]:
    """The words that may come after those before, and their help. They need not begin with `word`."""
    from cli import declarations
    from cli.start import canonical

    names = canonical([one for one in before if one[:1] != "-"])
    command = declarations.called(names)
    if command is None:
        return _commands(names, word)
    options = {flag: parameter for parameter in command.parameters for flag in (*parameter.flags, *parameter.off)}
    name, equals, _ = word.partition("=")
    last = name if equals else [one for one in before if one != "="][-1]
    option = options.get(last)
    if option is not None and option.kind != "flag":
        return {f"{name}={value}" if equals else value: "" for value in _values(option)}
    if word[:1] == "-":
        return {**{flag: parameter.help for flag, parameter in options.items()}, **_COMMON_OPTIONS}
    argument = next((one for one in command.parameters if not one.flags), None)
    return dict.fromkeys(_values(argument), "") if argument is not None else {}


def _commands(before: list[str], word: str) -> dict[str, str]:
    """The commands of the group in `before`, or all groups and the commands that are in none."""
    from cli import declarations

    group = " ".join(before)
    groups = declarations.every_group()
    if group and group not in groups:
        return {}
    if word[:1] == "-":
        version = {} if group else {"--version": "The versions of joelclaw, Python and SQLite"}
        return {**_COMMON_OPTIONS, **version}
    if group:
        return {path.partition(" ")[2]: command.help for path, command in declarations.declared(group).items()}
    single = {path: command.help for path, command in declarations.every_command().items() if " " not in path}
    return {**single, **groups}


def _values(parameter: Any) -> Sequence[str]:
    """The values that a parameter may have, or those in the store."""
    if parameter.kind == "truth":
        return ("true", "false")
    if parameter.choices:
        return tuple(parameter.choices)
    if parameter.completions is not None:
        return tuple(parameter.completions())
    return (FILES,) if parameter.metavar in _FILE_METAVARS else ()


# Views


def draw_status(screen: "Console", answer: Answer) -> None:
    """Whether everything works, the problems, then versions, counts and the last events."""
    from rich.text import Text

    from cli.terminal import pairs, present, rows_table, safe, size

    result = answer.result
    problems = result["problems"]
    style = "bold red" if not result["healthy"] else "bold yellow" if problems else "bold green"
    screen.print(safe(_verdict(len(problems)), style))
    _draw_findings(screen, problems)
    for unknown in result["config"].get("unknown", ()):
        screen.print(Text.assemble(("  ! ", "yellow"), safe(unknown)))
    store, sessions, events = result["store"], result["sessions"], result["events"]
    sizes = f"{size(store['bytes'])} + {size(store['walBytes'])} log, schema {store['schema']}"
    facts = {
        "joelclaw": f"{result['version']} (python {result['python']}, sqlite {result['sqlite']})",
        "home": result["home"],
        "store": sizes if store["exists"] else "none yet",
        "cluster": present(store.get("waiting") or {}),
        "off": ", ".join(row["name"] or row["scope"] for row in result["switches"]["off"]),
        "never archived": result["switches"]["excluded"],
        "state files": f"{sessions['count']}, {sessions['damaged']} damaged",
        "events": f"{events['total']:,}, {events['errors24h']:,} errors in 24 h, {events['waiting']:,} not stored yet",
        "export": result["otelExport"],
        "settings": result["config"]["changed"],
    }
    screen.print(pairs({name: value for name, value in facts.items() if value}))
    screen.print(rows_table([{"memories": name, **counts} for name, counts in result["counts"].items()]))
    if result["events"]["last"]:
        screen.print(rows_table(result["events"]["last"]))


def draw_doctor(screen: "Console", answer: Answer) -> None:
    """The verdict, then a line for each client and subject, with its problems below."""
    from rich.text import Text

    from cli.terminal import safe

    result = answer.result
    style = "bold red" if result["errors"] else "bold yellow" if result["warnings"] else "bold green"
    repaired = f", {result['fixed']} repaired" if result["fixed"] else ""
    screen.print(safe(_verdict(result["errors"] + result["warnings"]) + repaired, style))
    lines = {name: _client_line(facts) for name, facts in result["clients"].items()}
    lines |= {name: _subject_line(facts) for name, facts in result["subjects"].items()}
    for name, line in lines.items():
        findings = [finding for finding in result["findings"] if finding["subject"] == name]
        worst = max((finding["severity"] for finding in findings), key=list(_SIGNS).index, default="ok")
        padded = safe(name.ljust(max(map(len, lines))), "bold")
        screen.print(Text.assemble(_SIGNS[worst], padded, "  ", safe(line, "dim")), soft_wrap=True)
        _draw_findings(screen, findings)


def _verdict(problems: int) -> str:
    return f"{problems} problem{'s' * (problems != 1)} found" if problems else "Everything works"


def _draw_findings(screen: Any, findings: Sequence[dict[str, Any]]) -> None:
    from rich.text import Text

    from cli.terminal import safe

    for finding in findings:
        sign = _SIGNS[finding["severity"]]
        line = Text.assemble("    ", sign, safe(finding["message"]), "  ", safe(finding["code"], "dim"))
        screen.print(line, soft_wrap=True)
        if finding["fix"]:
            screen.print(Text.assemble("      → ", safe(finding["fix"], "cyan")), soft_wrap=True)


def _client_line(facts: dict[str, Any]) -> str:
    if not facts["installed"]:
        return "not installed" if facts["installed"] is False else "its settings cannot be read"
    calls = sum(event["calls24h"] for event in facts["events"])
    return f"installed, {calls:,} call{'s' * (calls != 1)} in 24 h"


def _subject_line(facts: dict[str, Any]) -> str:
    if not facts.get("exists", True):
        return "none yet"
    return str(facts["path"]) if "path" in facts else "" if facts.get("used", True) else "not in use"
