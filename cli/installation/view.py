"""`install`, `uninstall`, `status` and `doctor` on a terminal."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from cli.terminal import console, drawn, filled, pairs, plain, rows_table, safe, size
from core.quoting import clip

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_SIGNS = {"ok": ("✓ ", "green"), "note": ("· ", "dim"), "warning": ("! ", "yellow"), "error": ("✗ ", "bold red")}
_MOST_ROWS, _MOST_CHARS = 10, 160


def difference(files: Sequence[dict[str, Any]], *, whole: bool = True) -> None:
    """What changes in files: the diff of each, or what it says; a row where a file of ours comes or goes as a whole."""
    screen = console()
    for one in files:
        text = str(one["diff"])
        if one.get("what"):
            sign = "-" if text.startswith(f"--- {one['path']}") else "+"
            text = f"{sign} {one['path']} ({size(one['bytes'])}): {one['what']}"
        elif text and not whole:
            text = "\n".join(_in_short(one["path"], text.split("\n")[2:]))
        for line in text.removesuffix("\n").split("\n") if text else ():
            style = "bold" if line.startswith(("+++ ", "--- ")) else _COLOURS.get(line[:1], "dim")
            screen.print(safe(line, style), soft_wrap=True)


def _in_short(path: str, lines: Sequence[str]) -> Iterator[str]:
    """What changes by the lines of a diff, each once: those that only open a part in a row, then the others."""
    every = {sign: Counter(line[1:].strip(" ,") for line in lines if line[:1] == sign) for sign in "+-"}
    added, removed = every["+"] - every["-"], every["-"] - every["+"]
    lines = "line" if added.total() == 1 else "lines"
    yield f"{path}: {added.total()} {lines} added, {removed.total()} removed; --diff shows them"
    for sign, found in (("+", added), ("-", removed)):
        said = {text: f"{text}  {count} times" if count > 1 else text for text, count in found.items()}
        opening = dict.fromkeys(text.rstrip(" :{[") for text in said if text[-1:] in ("{", "["))
        rows = [told for text, told in said.items() if any(map(str.isalnum, text)) and text[-1] not in "{["]
        rows = [row for row in (", ".join(filter(None, opening)), *rows) if row]
        yield from (f"{sign} {clip(row, _MOST_CHARS)}" for row in rows[:_MOST_ROWS])
        if len(rows) > _MOST_ROWS:
            yield f"{sign} … and {len(rows) - _MOST_ROWS} more"


@drawn
def install(screen: Console, result: Any) -> None:
    """What is installed where; or what was done to each client's file, or would be, and what is left to do."""
    if "installs" in result:
        rows, home = result["installs"], os.path.expanduser("~/")
        told = [
            {"agent": one["agent"], "for you": _state(one), "for this project": _state(other),
             "settings": re.sub(f"^{re.escape(home)}", "~/", one["path"])}
            for one, other in zip(rows[::2], rows[1::2], strict=True)
        ]  # fmt: skip
        screen.print(rows_table(told))
        for one in rows[::2]:
            for note in one["notes"]:
                screen.print(safe(f"{one['agent']}: {note}", "dim"))
    else:
        _changes(screen, result)
        if archived := result.get("archived"):
            screen.print(safe(f"{archived['transcripts']:,} past sessions archived. Try:", "bold"))
        elif result.get("memoryLeft"):
            screen.print(safe(f"The memory stays in {result['memoryLeft']}."))


def _state(one: dict[str, Any]) -> str:
    """What stands in a client's settings of one scope; "–" where they cannot be read, or are of the other scope."""
    if one["installed"]:
        return "current" if one["current"] else "another version"
    return "–" if one["installed"] is None else "no" if one["present"] else "not here"


def _changes(screen: Console, result: dict[str, Any]) -> None:
    asked, declined = result["dryRun"], result.get("declined")
    for one in result["agents"]:
        others = one["also"]
        if asked:
            difference([one, *others])
        done = "would change" if asked and (one["diff"] or others) else "nothing to change"
        done = "done" if one["changed"] else "nothing was changed" if declined else done
        screen.print(safe(one["agent"], "bold"), safe(done), safe(one["path"], "dim"))
        left = [path for path in one.get("backupsLeft", ()) if path != one["backup"]]
        lines = [f"and {other['path']}" for other in others if not asked]
        lines += [f"backup: {one['backup']}"] if one["backup"] else []
        lines += [f"still there, delete it when you like: {path}" for path in left]
        for line in (*lines, *(f"- {note}" for note in one["notes"] if not declined)):
            screen.print(safe(f"  {line}", "" if line[0] == "-" else "dim"))
    for one in result["skipped"]:
        screen.print(safe(one["agent"], "bold dim"), safe(f"skipped: {one['reason']}", "dim"))


@drawn
def overview(screen: Console, result: Any) -> None:
    """The number of problems, each problem, then the facts."""
    problems = result["problems"]
    style = "bold red" if not result["healthy"] else "bold yellow" if problems else "bold green"
    screen.print(safe(_verdict(len(problems)), style))
    _print_findings(screen, problems)
    for unknown in result["config"].get("unknown", ()):
        screen.print(Text.assemble(("  ! ", "yellow"), safe(unknown)))
    screen.print(pairs({name: value for name, value in _facts(result).items() if value}))
    screen.print()
    screen.print(rows_table([{"memories": name, **counts} for name, counts in result["counts"].items()]))
    if result["events"]["last"]:
        screen.print()
        screen.print(rows_table(result["events"]["last"]))


def _facts(result: dict[str, Any]) -> dict[str, object]:
    store, sessions, events, switches = result["store"], result["sessions"], result["events"], result["switches"]
    config, waiting, newest = result["config"], store.get("waiting"), sessions["newest"]
    versions = f"python {result['python']}, sqlite {result['sqlite']}, sqlite-vec {result['sqliteVec'] or 'missing'}"
    of_store = f"{size(store['bytes'])} + {size(store['walBytes'])} log, schema {store['schema']}"
    return {
        "joelclaw": f"{result['version']} ({versions})",
        "home": result["home"],
        "store": of_store if store["exists"] else "none yet",
        "off": ", ".join(one["name"] or one["scope"] for one in switches["off"]),
        "never archived": switches["excluded"],
        "cluster": {"backend": store["backend"], **(waiting or {})} if waiting or store["backend"] != "sqlite" else "",
        "state files": f"{sessions['count']}, {sessions['damaged']} damaged"
        + (f", newest {plain(newest['at'])}" if newest else ""),
        "events": f"{events['total']:,}, {events['errors24h']:,} errors in 24 h"
        + (f", {events['waiting']:,} not stored yet" if events["waiting"] else ""),
        "export": result["otelExport"],
        "embedding": f"{result['embedding']['space']}, {size(result['embedding']['bytes'])}",
        "extras": ", ".join(f"{name} {version or '–'}" for name, version in result["extras"].items()),
        "settings": config["changed"],
        "folder's file": filled(config.get("project") or {}),
    }


@drawn
def report(screen: Console, result: Any) -> None:
    """The number of problems, then a line for each subject with its findings below it."""
    style = "bold red" if result["errors"] else "bold yellow" if result["warnings"] else "bold green"
    repaired = f", {result['fixed']} repaired" if result["fixed"] else ""
    screen.print(safe(_verdict(result["errors"] + result["warnings"]) + repaired, style))
    lines = {name: _of_client(facts) for name, facts in result["clients"].items()}
    lines |= {name: _of_subject(name, facts) for name, facts in result["subjects"].items()}
    for name, facts in lines.items():
        findings = [found for found in result["findings"] if found["subject"] == name]
        worst = max((found["severity"] for found in findings), key=list(_SIGNS).index, default="ok")
        padded = safe(name.ljust(max(map(len, lines))), "bold")
        screen.print(Text.assemble(_SIGNS[worst], padded, "  ", safe(facts, "dim")), soft_wrap=True)
        _print_findings(screen, findings)


def _verdict(problems: int) -> str:
    return f"{problems} problem{'s' * (problems != 1)} found" if problems else "Everything works"


def _print_findings(screen: Console, findings: Sequence[dict[str, Any]]) -> None:
    for one in findings:
        line = Text.assemble("    ", _SIGNS[one["severity"]], safe(one["message"]), "  ", safe(one["code"], "dim"))
        screen.print(line, soft_wrap=True)
        if one["fix"]:
            screen.print(Text.assemble("      → ", safe(one["fix"], "cyan")), soft_wrap=True)


def _of_client(facts: dict[str, Any]) -> str:
    if not facts["installed"]:
        return "not installed" if facts["installed"] is False else "its settings cannot be read"
    called = [event for event in facts["events"] if event["lastAt"]]
    parts = ["installed for this project" if facts["scope"] == "project" else "installed"]
    parts += ["current"] if facts["current"] else []
    parts += [f"answers in {facts['trialMs']} ms"] if facts["trialMs"] is not None else []
    if called:
        last = max(event["lastAt"] for event in called)[:16].replace("T", " ")
        calls = sum(event["calls24h"] for event in called)
        parts.append(f"{calls:,} call{'s' * (calls != 1)} in 24 h, last {last}")
    return ", ".join(parts)


def _of_subject(name: str, facts: dict[str, Any]) -> str:
    if name == "store" and "size" in facts:
        return f"whole, {size(facts['size'])} + {size(facts['log'])} log, schema {facts['schema']}"
    if name == "switches":
        return f"{len(facts['off'])} off, {len(facts['excluded'])} excluded"
    if name == "settings":
        return f"{len(facts['changed'])} of your own"
    if not facts.get("exists", True):
        return "none yet"
    return str(facts["path"]) if "path" in facts else "in use" if facts["used"] else "not in use"
