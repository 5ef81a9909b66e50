"""`memory …` on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cli.answer import Answer
from cli.terminal import console, first_rows, next_steps, pairs, plain, rows_table, safe, size

_VERDICTS = {"allow": "green", "hold": "yellow", "discard": "dim"}
_STATUS = {"green": "bold green", "yellow": "bold yellow", "red": "bold red", "not enough yet": "dim"}
_OUTCOMES = ("added", "updated", "merged", "unchanged", "forgotten")
_TOLD_BY = {
    "keyword": "told by its words",
    "fallback": "nothing in it tells",
    "annotation": "annotated",
    "flag": "given",
}
_UNSHOWN = ("observation", "history", "context", "evidence")
_OWN_TAGS = ("pinned", "stale")
"""Tags that are told by a word of their own."""
_BUDGETS = {"tokens": "observe.max_tokens", "seconds": "observe.seconds"}


def _told(rows: dict[str, object], answer: Answer, screen: Console) -> None:
    """Rows of names and values, without those that say nothing, and the next steps."""
    screen.print(pairs({name: value for name, value in rows.items() if value not in ("", None, [])}))
    next_steps(answer, screen)


def _warned(value: Any) -> Text | None:
    """What a person should see at once: a text, a list of kinds, or kinds with their counts; None for none."""
    if isinstance(value, dict):
        value = [f"{kind} {number}" for kind, number in value.items()]
    return safe(value, "bold yellow") if value else None


def write(answer: Answer) -> None:
    """The memory as it was stored, and what the gate said."""
    screen = console()
    result: Any = answer.result
    screen.print(_verdict(result["verdict"]), safe(result["observation"]))
    told_by = _TOLD_BY.get(result["categorySource"], result["categorySource"])
    merged = f"took the place of a memory that said the same, {result['mergedCount']} in all"
    rows: dict[str, object] = {
        "id": result["id"],
        "category": f"{result['categoryId']} ({told_by})",
        "why": result["reason"],
        "project": result["project"] or ("none: seen in every one" if result["isGlobal"] else "none known"),
        "hint": _warned(result.get("hint")),
        "tags": result["tags"],
        "merged": merged if result["merged"] else "",
        "redacted": _warned(result["redacted"]),
    }
    _told(rows, answer, screen)


def note(answer: Answer) -> None:
    """The thought as it was kept."""
    screen = console()
    result: Any = answer.result
    screen.print(_verdict(result["verdict"]), safe(result["text"]))
    rows = {name: result[name] for name in ("id", "category", "tags")}
    _told({**rows, "hint": _warned(result.get("hint"))}, answer, screen)


def recent(answer: Answer) -> None:
    """One line each, newest first."""
    screen = console()
    result: Any = answer.result
    rows = [{**row, "at": row["at"][:16].replace("T", " ")} for row in result["observations"]]
    if rows:
        screen.print(rows_table(rows, ("at", "category", "verdict", "observation"), len(rows)))
    else:
        screen.print(safe(f"nothing was written in the last {result['hours']:g} hours", "dim"))
    next_steps(answer, screen)


def scorecard(answer: Answer) -> None:
    """The rates, and the worst of them in its colour."""
    screen = console()
    result: Any = answer.result
    values = ("–" if row["value"] is None else f"{row['value']:.1%}" for row in result["metrics"])
    rows = [{**row, "value": value} for row, value in zip(result["metrics"], values, strict=True)]
    screen.print(safe(f"last {result['hours']:g} hours", "dim"))
    screen.print(rows_table(rows, ("name", "value", "status", "detail")))
    screen.print(Text("overall "), Text(result["overallStatus"], style=_STATUS.get(result["overallStatus"], "")))
    next_steps(answer, screen)


def list_(answer: Answer) -> None:
    """Of each memory a line with what is known of it, id first, and its text."""
    screen = console()
    result: Any = answer.result
    if not result["memories"]:
        screen.print(safe("no memory is like that", "yellow"))
    for row in result["memories"]:
        line = safe(row["id"], "bold")
        for value, style in ((row["at"][:10], ""), (row["category"], "cyan"), (_about(row), "dim")):
            if value:
                line.append("  ").append_text(safe(value, style))
        screen.print(line)
        style = "" if row["verdict"] == "allow" else _VERDICTS.get(row["verdict"], "")
        screen.print(Padding(safe(" ".join(row["observation"].split()), style), (0, 0, 1, 4)))
    first = (result["page"] - 1) * result["limit"]
    if result["count"]:
        screen.print(safe(f"{first + 1} to {first + result['count']} of {result['found']}", "dim"))
    next_steps(answer, screen)


def _about(row: dict[str, Any]) -> str:
    """What tells a memory from others, in a few words."""
    words = [row["verdict"] if row["verdict"] != "allow" else "", *(name for name in _OWN_TAGS if row[name])]
    words += ["forgotten" if row["forgotten"] else ""]
    words += [f"superseded by {row['supersededBy']}" if row["supersededBy"] else ""]
    words += [*(f"#{tag}" for tag in row["tags"] if tag not in _OWN_TAGS), row["project"]]
    return " · ".join(filter(None, words))


def changed(answer: Answer) -> None:
    """The memory as it is now."""
    screen = console()
    result: Any = answer.result
    screen.print(safe(result["observation"]))
    rows: dict[str, object] = {"id": result["id"]}
    if not result["changed"]:
        rows["changed"] = safe("nothing: it was so before", "dim")
    if "superseded" in result:
        rows["instead of"] = result["superseded"]["observation"]
    if result.get("before", result["observation"]) != result["observation"]:
        rows["it said"] = result["before"]
    if result.get("merged"):
        rows["merged"] = "a memory said so already: it took the place"
    rows["forgotten"] = result.get("takenOut")
    if result["verdict"] != "allow":
        rows["gate"] = _warned(f"{result['verdict']}: {result.get('reason', '')}")
    rows |= {"hint": _warned(result.get("hint")), "category": result["category"], "tags": plain(result["tags"])}
    _told({**rows, "redacted": _warned(result.get("redacted"))}, answer, screen)


def show(answer: Answer) -> None:
    """The text, what is known of it, and what it said before; of a tool call the lines of it that are kept."""
    screen = console()
    result: Any = answer.result
    if "passage" in result:
        screen.print(safe(result["place"], "bold"))
        known = ("id", "project", "client", "at", "outcome", "error", "command")
        screen.print(pairs({name: safe(str(result[name])) for name in known if result[name]}))
        if result["passage"]:
            screen.print(safe("lines in which names stand first in the session", "bold cyan"))
            screen.print(safe(result["passage"]))
        next_steps(answer, screen)
        return
    screen.print(_verdict(result["verdict"]), safe(result["observation"]))
    if result["forgotten"]:
        screen.print(safe("forgotten: no search finds it", "bold yellow"))
    shown = {name: value for name, value in result.items() if name not in _UNSHOWN and value not in ("", [], None)}
    screen.print(pairs(shown))
    if result["context"]:
        screen.print(safe("context", "bold cyan"))
        screen.print(safe(result["context"]))
    tables = (("it said before", "history", ("at", "source", "text")),
              ("observed in", "evidence", ("session", "episodes", "at")))  # fmt: skip
    for title, name, columns in tables:
        if result[name]:
            screen.print(safe(title, "bold cyan"))
            screen.print(rows_table(result[name], columns))
    next_steps(answer, screen)


def forget(answer: Answer) -> None:
    """Which memories changed."""
    screen = console()
    result: Any = answer.result
    if "purged" in result:
        from cli.memory.purge import shown

        shown(answer)
        return
    did = "brought back" if result["undo"] else "forgotten"
    for name in result["restored" if result["undo"] else "forgotten"]:
        screen.print(safe(f"{did} {name}"))
    for name in result["unchanged"]:
        screen.print(safe(f"{name} was so before", "dim"))
    if result.get("toolCalls"):
        screen.print(safe(f"{result['toolCalls']} tool calls deleted"))
    next_steps(answer, screen)


def import_(answer: Answer) -> None:
    """What became of the lines, and what is wrong with the bad ones."""
    screen = console()
    result: Any = answer.result
    if result.get("preview"):
        screen.print(safe("a preview: nothing was stored", "bold yellow"))
    if "form" in result:
        _of_another_tool(screen, result)
    else:
        names = ("lines", "added", "updated", "unchanged", "forgotten", "failed")
        screen.print(pairs({name: result[name] for name in names if result[name] or name == "lines"}))
        if result["redacted"]:
            screen.print(pairs({"redacted": _warned(result["redacted"])}))
        first_rows(screen, result["errors"], ("line", "reason"), result["failed"])
    next_steps(answer, screen)


def _of_another_tool(screen: Console, result: dict[str, Any]) -> None:
    """The counts, the first memories with what becomes of each, and what is left out and why."""
    names = ("form", "items", "added", "updated", "merged", "unchanged", "forgotten")
    rows: dict[str, object] = {name: result[name] for name in names if result[name]}
    rows["left out"] = result["leftOutCount"]
    rows |= {name: result[name] for name in ("verdicts", "categories", "redacted") if result[name]}
    screen.print(pairs(rows))
    columns = ("where", "outcome", "verdict", "category", "observation")
    first_rows(screen, result["first"], columns, sum(result[name] for name in _OUTCOMES))
    if result["leftOut"]:
        screen.print(safe("left out", "bold yellow"))
        first_rows(screen, result["leftOut"], ("where", "reason", "text"), result["leftOutCount"])


def archive(answer: Answer) -> None:
    """What was taken in, and which files were left out and why."""
    screen = console()
    result: Any = answer.result
    rows: dict[str, object] = {
        "of": result["agents"],
        "unchanged": result["unchanged"],
        "episodes added": result["episodes"]["added"],
        "tool calls added": result["calls"],
        "episodes updated": result["episodes"]["updated"],
        "read": size(result["bytes"]) if result["bytes"] else 0,
        "bad lines": result["badLines"],
        "subagents left out": result["subagents"],
        "in excluded folders, left out": result["excluded"],
        "contextual index": _index(result["index"]) if "index" in result else "",
    }
    shown = {name: value for name, value in rows.items() if value}
    screen.print(pairs({"transcripts": result["transcripts"], **shown}))
    if result["skipped"]:
        screen.print(safe("left out", "bold yellow"))
        first_rows(screen, result["skipped"], ("path", "reason"), result["skippedCount"])
    next_steps(answer, screen)


def _index(state: dict[str, Any]) -> str:
    how = "in the background" if state["running"] else "not running" if state["remaining"] else "complete"
    return f"{how}, {state['indexed']} of {state['indexed'] + state['remaining']}"


def stats(answer: Answer) -> None:
    """The counts, group by group."""
    screen = console()
    result: Any = answer.result
    screen.print(pairs({name: value for name, value in result.items() if not isinstance(value, dict)}))
    for name, group in result.items():
        if isinstance(group, dict) and group:
            screen.print(safe(name, "bold cyan"))
            screen.print(pairs(group))
    next_steps(answer, screen)


def _verdict(name: str) -> Text:
    return Text(f"[{name}]", style=_VERDICTS.get(name, ""))


def observe(answer: Answer) -> None:
    """How much was read, what came of it, and what is left."""
    screen = console()
    result: Any = answer.result
    if result.get("detached") or result["unchanged"]:
        is_running = result.get("detached")
        told = f"session {result['session']} is observed in the background" if is_running else ""
        screen.print(safe(told or "nothing was said since the last time", "" if is_running else "dim"))
        next_steps(answer, screen)
        return
    noted, left = result["observations"], result["left"]
    rows: dict[str, object] = {
        "session": result["session"],
        "turns": result["turns"],
        "observations": f"{plain(noted['added'])} new, {plain(noted['merged'])} said before",
        "verdicts": noted["byVerdict"],
        "tokens": f"about {plain(result['tokens'])}",
    }
    if left["turns"]:
        budget = _BUDGETS.get(left["reason"], "the budget")
        rows["left"] = safe(f"{plain(left['turns'])} turns, since {budget} is used", "yellow")
    _told(rows, answer, screen)
