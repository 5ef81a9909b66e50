"""`install`, `uninstall`, `status` and `trust` on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from cli.answer import Answer
from cli.terminal import console, next_steps, pairs, rows_table, safe, size

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def difference(diffs: Sequence[str]) -> None:
    """Unified diffs, coloured."""
    screen = console()
    for line in (line for diff in diffs for line in diff.splitlines()):
        style = "bold" if line.startswith(("+++ ", "--- ")) else _COLOURS.get(line[:1], "dim")
        screen.print(safe(line, style), soft_wrap=True)


def told(one: dict[str, Any]) -> str:
    """What changes in a file: its diff, or one line where a file of ours comes or goes as a whole."""
    if not one.get("what"):
        return str(one["diff"])
    sign = "-" if one["diff"].startswith(f"--- {one['path']}") else "+"
    return f"{sign} {one['path']} ({size(one['bytes'])}): {one['what']}\n"


def changes(answer: Answer) -> None:
    """What was done to each client's file, or would be, and what is left to do."""
    screen = console()
    result: Any = answer.result
    for one in result["agents"]:
        if result["dryRun"]:
            difference([told(one)])
        screen.print(safe(one["agent"], "bold"), safe(_outcome(one, result)), safe(one["path"], "dim"))
        for other in one.get("also", ()):
            if result["dryRun"]:
                difference([told(other)])
            else:
                screen.print(safe(f"  and {other['path']}", "dim"))
        if one["backup"]:
            screen.print(safe(f"  as it was: {one['backup']}", "dim"))
        for path in one.get("backupsLeft", ()):
            if path != one["backup"]:
                screen.print(safe(f"  left, delete it when you like: {path}", "dim"))
        if not result.get("declined"):
            for note in one["notes"]:
                screen.print(safe(f"  - {note}"))
    for one in result["skipped"]:
        screen.print(safe(one["agent"], "bold dim"), safe(f"skipped: {one['reason']}", "dim"))
    next_steps(answer, screen)


def _outcome(one: dict[str, Any], result: dict[str, Any]) -> str:
    if one["changed"]:
        return "done"
    if result.get("declined"):
        return "nothing was changed"
    return "would change" if result["dryRun"] and one["diff"] else "nothing to change"


def install(answer: Answer) -> None:
    """Either view: of changes, or of the list."""
    result: Any = answer.result
    if "installs" not in result:
        changes(answer)
        return
    screen = console()
    screen.print(rows_table(result["installs"], ("agent", "scope", "installed", "current", "version", "path")))
    for one in result["installs"]:
        for note in one["notes"]:
            screen.print(safe(f"{one['agent']} ({one['scope']}): {note}", "dim"))
    next_steps(answer, screen)


def overview(answer: Answer) -> None:
    """Whether all is well, then what there is."""
    result: Any = answer.result
    screen = console()
    if result["healthy"]:
        about = safe("  store, settings, files; hooks: joelclaw doctor", "dim")
        screen.print(Text.assemble(safe("healthy", "bold green"), about))
    else:
        screen.print(safe("something is wrong", "bold red"))
    for problem in result["problems"]:
        screen.print(Text.assemble(("  ✗ ", "red"), safe(problem["message"]), "\n    → ", safe(problem["fix"], "cyan")))
    for unknown in result["config"].get("unknown", ()):
        screen.print(Text.assemble(("  ! ", "yellow"), safe(unknown)))
    screen.print(pairs({name: value for name, value in _facts(result).items() if value}))
    screen.print()
    screen.print(rows_table([{"memories": name, **counts} for name, counts in result["counts"].items()]))
    if result["events"]["last"]:
        screen.print()
        screen.print(rows_table(result["events"]["last"]))
    next_steps(answer, screen)


def _facts(result: dict[str, Any]) -> dict[str, object]:
    store, sessions, events, switches = result["store"], result["sessions"], result["events"], result["switches"]
    versions = f"python {result['python']}, sqlite {result['sqlite']}, sqlite-vec {result['sqliteVec'] or 'missing'}"
    newest = f", newest {sessions['newest']['at']}" if sessions["newest"] else ""
    size_of = f"{size(store['bytes'])} + {size(store['walBytes'])} log, schema {store['schema']}"
    return {
        "joelclaw": f"{result['version']} ({versions})",
        "home": result["home"],
        "store": size_of if store["exists"] else "none yet",
        "cluster": _cluster(store),
        "sessions": f"{sessions['count']}, {sessions['damaged']} damaged{newest}",
        "events": f"{events['total']:,}, {events['errors24h']:,} errors in 24 h",
        "off": ", ".join(one["name"] or one["scope"] for one in switches["off"]),
        "never archived": ", ".join(switches["excluded"]),
        "embedding": f"{result['embedding']['space']}, {size(result['embedding']['bytes'])}",
        "extras": ", ".join(f"{name} {version or '–'}" for name, version in result["extras"].items()),
        "settings": result["config"]["changed"],
        **_project_file(result["config"].get("project")),
    }


def _cluster(store: dict[str, Any]) -> str:
    """What waits for the cluster, where there is one."""
    waiting = store.get("waiting")
    if waiting is None:
        return "" if store["backend"] == "sqlite" else "not prepared"
    count = waiting["documents"] + waiting["events"]
    since = f", the oldest since {waiting['oldest']}" if count and waiting["oldest"] else ""
    return f"{store['backend']} answers; {count:,} waiting{since}; carried at {waiting['syncedAt'] or '–'}"


def _project_file(about: dict[str, Any] | None) -> dict[str, object]:
    """What the current folder's own file decides, and what it may not."""
    if about is None:
        return {}
    name = f"{about['file']} ({'trusted' if about['trusted'] else 'not trusted'})"
    if about["fault"]:
        return {"folder's file": name, "  left out": f"it {about['fault']}"}
    chosen = [f"{name} = {value}" for name, value in about["inForce"].items()]
    chosen += [f"scopes.{name}" for name in about["scopes"]]
    alone = " (for this project's own memories alone)" if chosen and not about["trusted"] else ""
    withheld, never = ", ".join(about["withheld"]), ", ".join(about["never"])
    return {
        "folder's file": name,
        "  from there": ("; ".join(chosen) or "nothing") + alone,
        "  withheld": withheld and f"{withheld} (until joelclaw trust)",
        "  never from there": never and f"{never} (your own file and environment only)",
    }


_MEANS = (
    "What its files choose (queries, scores, scopes, descriptions) is recalled from all that is global, too.",
    "What its files choose (queries, scores, scopes, descriptions) is recalled from its own memories alone.",
)
_STAYS = "What deletes, is run, or says where things are sent stays yours, whatever a project's file says."


def _chosen(screen: Console, about: dict[str, Any] | None) -> None:
    """What trust lets in, setting by setting, and what it does not."""
    if about is None:
        screen.print(safe("Its folder has no .joelclaw/config.toml now; one that is added later holds at once.", "dim"))
    elif about["fault"]:
        screen.print(safe(f"{about['file']} is left out: it {about['fault']}", "yellow"))
    else:
        screen.print(safe(f"Let in from {about['file']}, and whatever is added to it later:"))
        chosen = {**about["settings"], **{f"scopes.{name}": query for name, query in about["scopes"].items()}}
        screen.print(pairs({f"  {name}": value for name, value in chosen.items()} or {"  nothing": ""}))
        if about["never"]:
            screen.print(safe(f"Not let in, though the file says it: {', '.join(about['never'])}."))
    screen.print(safe(_STAYS, "dim"))


def trust(answer: Answer) -> None:
    """The folder and what holds for it now; or all that are trusted."""
    result: Any = answer.result
    screen = console()
    if isinstance(result["trusted"], list):
        rows = [
            {"folder": row["path"], "since": row["at"][:10], "stands": "" if row["stands"] else "no: another folder"}
            for row in result["trusted"]
        ]
        screen.print(rows_table(rows) if rows else safe("No folder is trusted.", "dim"))
        return
    now = "trusted" if result["trusted"] else "not trusted any more"
    if not result["changed"]:
        now = "trusted already"
    screen.print(safe(f"{result['path']} is {now}.", "green"))
    screen.print(safe(_MEANS[0] if result["trusted"] else _MEANS[1], "dim"))
    if result["trusted"]:
        _chosen(screen, result.get("chooses"))
    next_steps(answer, screen)
