"""`recall` and `search` on a terminal: the hits, the best one last, and how their scores came about."""

import re
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cli.answer import Answer, quoted, step
from cli.recall import narrowed, past, show
from cli.terminal import console, drawn, next_steps, rows_table, safe
from core import clock, ids
from core.output import shown
from core.words import query_terms
from recall.hit import is_of_another, written

_BAR = 10
_LEAST_ROWS, _AROUND_TEXT, _AROUND_HITS = 2, 1, 3
"""Rows of a hit's text at least; beside its text; below all hits, with the prompt's."""
_NEAR = 5  # entries that have rows beside each other: a hit, and two before and after it
_ENDING, _SHORT_WORD = re.compile(r"(?:ing|ed|es|s|e)$"), 4
_INDENTED = (0, 0, 0, 4)
_EMPTY = re.compile(r"(?:`{3,}\w*|[-|:+=─ ]+|[][{}(),;]+|\(prompt \d+, call \d+(?:, ok)?\))?")
"""A row that tells nothing: a fence, a rule of a table, a bare brace, the place of a call that went well."""
_CLIENT_TAG = re.compile(r"‹/?[\w:-]+>")
_UNITS = (("y", 525_960), ("mo", 43_830), ("d", 1440), ("h", 60), ("min", 1))


def hits(answer: Answer) -> None:
    """Each hit with where it is from and its rows around what was asked for, the best one last: above the prompt it is
    seen. As many have room on the screen as can have three rows each; the best has what is over.
    """
    result: Any = answer.result
    screen = console()
    if not result["hits"]:
        asked = result["query"][:120].strip()
        screen.print(safe(f"No results for {asked!r}." if asked else "The query is empty.", "yellow"))
        for told in narrowed.unknown(result):
            screen.print(safe(told, "yellow"))
            answer.next_actions = [step(f"joelclaw recall {quoted(result['query'])}", "the same without it")]
    asked = _marked(f"{result['query']} {result['rewrittenQuery']}")
    texts = [_rows(screen, _told(hit)) for hit in result["hits"]]
    most = [min(len(rows), _LEAST_ROWS) for rows in texts]
    over = screen.height - _AROUND_HITS - sum(most) - len(texts) * _AROUND_TEXT
    for half in (True, False):  # what the others do not need goes to the best that is still cut
        for at, rows in enumerate(texts):
            more = max(0, min(-(-over // 2) if half else over, len(rows) - most[at]))
            most[at], over = most[at] + more, over - more
    drawn: list[tuple[Text, list[Text]]] = []
    for rank, (hit, rows) in enumerate(zip(result["hits"], texts, strict=True), 1):
        place = rows[: hit["collection"] == "calls"]
        around = passage(rows[len(place) :], asked, most[rank - 1] - len(place), screen)
        drawn.append((heading(hit, rank, result.get("preferredProject") or ""), [*place, *around]))
    if screen.is_terminal:
        show.keep([hit["id"] for hit in result["hits"]], f"{result['query']} {result['rewrittenQuery']}")
    for head, rows in reversed(drawn) if screen.is_terminal else drawn:
        screen.print(head, no_wrap=True, overflow="ellipsis")
        for row in rows:
            screen.print(
                Text("  " * (1 + (not row.plain.startswith("… ")))).append_text(row), no_wrap=True, overflow="ellipsis"
            )
    _summary(screen, result)
    if screen.is_terminal and result["hits"]:
        answer.next_actions = [step("joelclaw recall show 1", answer.next_actions[0]["description"])]
    next_steps(answer, screen)


def _summary(screen: Console, result: dict[str, Any]) -> None:
    """How many there are, what was left out and why, and who was asked."""
    words = f"{result['count']} of {result['found']} found"
    if result.get("droppedByTrustPass"):
        words += f" · {result['droppedByTrustPass']} left out"
    if own := result.get("preferredProject"):
        [foreign] = [is_of_another(hit, own) for hit in result["hits"][:1]] or [False]
        words += f" · hit 1 is of {result['hits'][0]['project']}, not {own}" if foreign else f" · hits of {own} first"
    if result["hits"] or result.get("droppedByTrustPass"):
        screen.print(safe(words, "dim"), no_wrap=True, overflow="ellipsis")
    for dropped in () if result["hits"] else result.get("droppedDiagnostics", ()):
        screen.print(safe(f"  left out ({', '.join(dropped['reasons'])}): {dropped['observation'][:100]}", "dim"))
    if "fallback" in result:
        screen.print(safe(f"The cluster was not asked or did not answer: {result['fallback']['reason']}", "yellow"))


def _marked(query: str) -> re.Pattern[str]:
    """What is marked of a text: the words of a query however they end, and words that begin with a long one."""
    stems = {
        re.escape(_ENDING.sub("", word) if word.isalpha() and len(word) > _SHORT_WORD else word)
        + (r"\w*" if len(word) >= _SHORT_WORD else r"s?(?!\w)")  # `not` begins `nothing`
        for word in query_terms(query)
    }
    longest = sorted(stems, key=len, reverse=True)
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(longest) or chr(0)})", re.IGNORECASE)


def _told(hit: dict[str, Any]) -> str:
    """The text of a hit without what its heading says: who spoke; of a tool call the tool and the session."""
    text = str(hit["observation"])
    if hit["collection"] == "episodes":
        text = text.removeprefix("prompt: ").removeprefix("agent: ")
    elif hit["collection"] == "calls":
        where, found, said = text.replace(f"(session {ids.shown(hit['session'])}, ", "(", 1).partition("): ")
        text = where.removeprefix(hit["origin"].partition(" ")[2] + " ") + (f")\n{said}" if found else "")
    return f"{hit['title']}\n{text}" if hit.get("title") else text


def _rows(screen: Console, text: str) -> list[Text]:
    """A text in rows as wide as the screen, without those that tell nothing."""
    lines = [Text(line.rstrip()) for line in _CLIENT_TAG.sub("", shown(text)).expandtabs(4).splitlines()]
    rows = [row for line in lines for row in line.wrap(screen, _width(screen))]
    for row in rows:
        row.rstrip()
    return [row for row in rows if not _EMPTY.fullmatch(row.plain.strip())]


def _width(screen: Console) -> int:
    return max(screen.width - _INDENTED[3], 20)


def _cut(screen: Console, row: Text) -> Text:
    """A row that goes on: its words that have room, and " …"."""
    return row.wrap(screen, _width(screen) - 2)[0] + Text(" …", style="dim")


def passage(
    rows: Sequence[Text], asked: re.Pattern[str], most: int, screen: Console, *, is_long: bool = False
) -> list[Text]:
    """At most so many of a text's rows: those with most of what was asked for, marked. "… " stands in the margin. Of a
    text that `is_long` more is shown behind the match than before it."""
    found = [{match.lower()[:_SHORT_WORD] for match in asked.findall(row.plain)} for row in rows]

    def worth(at: int) -> tuple[int, int]:
        inside = found[at : at + most]
        return len(set().union(*inside)), sum(map(len, inside[1:-1] or inside))

    start = max(range(max(len(rows) - most, 0) + 1), key=worth)
    if is_long and any(found):  # where it loses no word
        best = max(range(start, min(start + most, len(rows))), key=lambda at: len(set(found[at])))
        later = max(start, min(best - most // 3, len(rows) - most))
        start = later if worth(later)[0] == worth(start)[0] else start
    kept = list(rows[start : start + most])
    for row in kept:
        row.highlight_regex(asked, "bold yellow")
    if start + most < len(rows):
        kept[-1] = _cut(screen, kept[-1])
    if start and kept:
        kept[0] = Text("… ", style="dim").append_text(kept[0])
    return kept


def conversation(answer: Answer) -> None:
    """A hit, opened at what was asked for, with the two entries before and after it; more of them in the rows left."""
    result: Any = answer.result
    screen = console()
    parts = filter(None, (result[name] for name in ("project", "client", "folder")))
    head = safe(ids.shown(result["sessionId"]) or result["id"], "bold cyan")
    screen.print(head.append_text(safe("  " + "  ".join(parts), "dim")), no_wrap=True, overflow="ellipsis")
    entries = result["entries"]
    hit = next((at for at, entry in enumerate(entries) if entry["match"]), 0)
    nearest = sorted(range(len(entries)), key=lambda at: abs(at - hit))
    texts = [_entry(screen, entry) for entry in entries]
    free = screen.height - len(answer.next_actions) - 2
    most = [0 if free > len(entries) else 1] * len(entries)  # so many were asked for: none is left out
    free -= sum(most)
    if most[hit : hit + 1] == [1]:
        most[hit] = min(len(texts[hit]), screen.height // 2)
    limits = (nearest[1:_NEAR], _LEAST_ROWS), (nearest[:1], screen.height), (nearest, 1), (nearest, 1 + _LEAST_ROWS)
    for those, limit in limits:
        for at in those:
            more = max(0, min(free, limit - most[at], len(texts[at]) - most[at]))
            most[at], free = most[at] + more, free - more
    asked = _marked(result["query"])
    for entry, rows, count in zip(entries, texts, most, strict=True):
        if entry["match"] and count:
            rows = [rows[0], *passage(rows[1:], asked, count - 1, screen, is_long=True)]
        kept = [*rows[: count - 1], _cut(screen, rows[count - 1])] if 0 < count < len(rows) else rows[:count]
        for at, row in enumerate(kept):
            indent = _INDENTED[3] - 2 * row.plain.startswith("… ")
            screen.print(Text(" " * indent * bool(at)).append_text(row), no_wrap=True, overflow="ellipsis")
    if sum(most) < sum(map(len, texts)) and result["sessionId"]:
        command = answer.next_actions[0]["command"].partition(" --before ")[0]
        answer.next_actions[0] = step(f"{command} --raw", "all that was said here")
    next_steps(answer, screen)


def _entry(screen: Console, entry: dict[str, Any]) -> list[Text]:
    """What was said or called, in rows: when and by whom, then a hit line by line, of the rest one paragraph."""
    time = entry["at"][:16].replace("T", " ") if entry["at"] != "unknown" else ""
    said = Text.assemble(("▌" if entry["match"] else " ", "bold yellow"), safe(f"{time}  ", "dim"))
    said.append_text(safe(show.SPOKE.get(entry["role"], entry["role"]) + "  ", "bold" if entry["match"] else "blue"))
    if entry["match"]:
        return [said, *_rows(screen, entry["text"])]
    return list(said.append_text(safe(" ".join(entry["text"].split()))).wrap(screen, _width(screen)))


@drawn
def lines(screen: Console, result: Any) -> None:
    """Text line by line, on a terminal the best last; what stands below another is fainter and indented."""
    if screen.is_terminal:
        result = {key: value[::-1] if isinstance(value, list) else value for key, value in result.items()}
    for line in past.lines(result):
        below = line.startswith("    ")
        told = safe(line.strip(), "dim" if below else "bold")
        screen.print(Padding(told, _INDENTED if below else 0, expand=False))


@drawn
def everywhere(screen: Console, result: Any) -> None:
    """Every hit with its collection and snippet, behind a title that is no part of it; then what was counted."""
    if not result["hits"]:
        screen.print(safe(result.get("reason") or f"No results for {result['query'][:120]!r}.", "yellow"))
    else:
        told = [(hit, hit["title"], " ".join(hit["snippet"].split())) for hit in result["hits"]]
        hits = [{**hit, "hit": text if name[:40] in text else f"{name}: {text}"} for hit, name, text in told]
        screen.print(rows_table(hits, ("collection", "score", "hit"), most=len(hits)))
    for name, counts in result.get("facets", {}).items():
        counted = ", ".join(f"{one['value']} {one['count']}" for one in counts)
        screen.print(safe(f"{name}: {counted or '–'}", "dim"))
    screen.print(safe(f"{len(result['hits'])} of {result['totalFound']} found", "dim"))


def bar(score: float) -> Text:
    """A score from 0 to 1 as ten cells and two digits."""
    filled = round(min(1.0, max(0.0, score)) * _BAR)
    return Text.assemble(("█" * filled, "green"), ("░" * (_BAR - filled), "dim"), f" {score:.2f}")


def age(timestamp: str, now: int) -> str:
    """How long ago an ISO 8601 time was, in its largest unit; empty where it is unknown."""
    at = clock.parse_iso(timestamp)
    if at is None:
        return ""
    minutes = max(0, now - at) // 60_000
    return next((f"{minutes // length} {unit} ago" for unit, length in _UNITS if minutes >= length), "now")


def heading(hit: Any, rank: int, own: str) -> Text:
    """Number, day, time, project, client, session and speaker of a hit; of what is of no session its category."""
    of_session = bool(hit["session"]) and hit["collection"] != "knowledge"
    parts = (
        (hit["timestamp"][:16].replace("T", " ") if hit["timestamp"] != "unknown" else "", ""),
        (hit["project"] or written(hit), "red" if is_of_another(hit, own) else "green"),
        (hit["source"] if of_session and hit["source"] != hit["origin"] else "", ""),
        (ids.shown(hit["session"]) if of_session else "", "cyan"),
        (hit["origin"], "blue"),
        (hit["categoryId"].removeprefix("jc:") if hit["collection"] == "observations" else "", "magenta"),
        (hit["writeVerdict"] if hit["writeVerdict"] != "allow" else "", "yellow"),
        (f"{hit['more']} more in this session" if hit.get("more") else "", "dim"),
    )
    line = Text.assemble((f"{rank:>2}", "bold"))
    for value, style in parts:
        if value:
            line.append("  ").append_text(safe(value, style))
    return line
