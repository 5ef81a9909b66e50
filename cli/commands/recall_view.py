"""How `recall`, `show`, `how`, `fix` and `search` look on a terminal.

`recall` and `show` fill the screen: the rows that are free are given to the hits or entries that matter most. On a
terminal the best hit comes last, directly above the prompt.
"""

import re
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cli.commands import recall as commands
from cli.commands import recall_hot
from cli.output import Answer, quoted, step
from cli.terminal import console, next_steps, rows_table, safe, view
from core import ids
from core.output import shown
from core.words import query_terms
from recall.hit import is_of_another, written

INDENT = 4
LEAST_ROWS = 2  # of a hit's text
ROWS_AROUND_HITS = 3  # below all hits, with the prompt
NEAR_ENTRIES = 5  # the hit, two entries before it and two after it
_ENDING = re.compile(r"(?:ing|ed|es|s|e)$")
_SHORT_WORD = 4
# Rows without information: a code fence, a rule of a table, a bracket, the place of a call that succeeded.
_EMPTY_ROW = re.compile(r"(?:`{3,}\w*|[-|:+=─ ]+|[][{}(),;]+|\(prompt \d+, call \d+(?:, ok)?\))?")
_CLIENT_TAG = re.compile(r"‹/?[\w:-]+>")


def draw_hits(answer: Answer) -> None:
    """Each hit with its origin and the rows of its text around the query's words; every hit gets at least two rows."""
    result: Any = answer.result
    screen = console()
    if not result["hits"]:
        _draw_no_hits(screen, answer)
    words = query_pattern(f"{result['query']} {result['rewrittenQuery']}")
    texts = [_rows(screen, hit_text(hit)) for hit in result["hits"]]
    counts = _share_rows(screen, texts)
    blocks: list[tuple[Text, list[Text]]] = []
    for rank, (hit, rows) in enumerate(zip(result["hits"], texts, strict=True), 1):
        place = rows[: hit["collection"] == "calls"]
        excerpt = best_rows(rows[len(place) :], words, counts[rank - 1] - len(place), screen)
        blocks.append((heading(hit, rank, result.get("preferredProject") or ""), [*place, *excerpt]))
    if screen.is_terminal:
        commands.save_numbers([hit["id"] for hit in result["hits"]], f"{result['query']} {result['rewrittenQuery']}")
    for head, rows in reversed(blocks) if screen.is_terminal else blocks:
        screen.print(head, no_wrap=True, overflow="ellipsis")
        for row in rows:
            _print_indented(screen, row)
    _print_summary(screen, result)
    if screen.is_terminal and result["hits"]:
        answer.next_actions = [step("joelclaw recall show 1", answer.next_actions[0]["description"])]
    next_steps(answer, screen)


def _draw_no_hits(screen: Console, answer: Answer) -> None:
    result: Any = answer.result
    query = result["query"][:120].strip()
    screen.print(safe(f"No results for {query!r}." if query else "The query is empty.", "yellow"))
    for line in recall_hot.unknown_filters(result):
        screen.print(safe(line, "yellow"))
        answer.next_actions = [step(f"joelclaw recall {quoted(result['query'])}", "the same without it")]


def _share_rows(screen: Console, texts: Sequence[Sequence[Text]]) -> list[int]:
    """The number of rows for each text: half of the free rows go to the first that is cut, and so on."""
    counts = [min(len(rows), LEAST_ROWS) for rows in texts]
    free = screen.height - ROWS_AROUND_HITS - sum(counts) - len(texts)
    for half in (True, False):
        for at, rows in enumerate(texts):
            more = max(0, min(-(-free // 2) if half else free, len(rows) - counts[at]))
            counts[at] += more
            free -= more
    return counts


def _print_summary(screen: Console, result: dict[str, Any]) -> None:
    words = f"top {result['count']} of {result['found']}"
    if result.get("droppedByTrustPass"):
        words += f" · {result['droppedByTrustPass']} left out"
    if own := result.get("preferredProject"):
        best = result["hits"][0] if result["hits"] else None
        is_foreign = best is not None and is_of_another(best, own)
        words += f" · hit 1 is from {best['project']}, not {own}" if best and is_foreign else f" · {own} first"
    if result["hits"] or result.get("droppedByTrustPass"):
        screen.print(safe(words, "dim"), no_wrap=True, overflow="ellipsis")
    for dropped in () if result["hits"] else result.get("droppedDiagnostics", ()):
        reasons = ", ".join(dropped["reasons"])
        screen.print(safe(f"  left out ({reasons}): {dropped['observation'][:100]}", "dim"))
    if "fallback" in result:
        screen.print(safe(f"The cluster was not used: {result['fallback']['reason']}", "yellow"))


def query_pattern(query: str) -> re.Pattern[str]:
    """Matches the words of a query with any ending, to highlight them."""
    stems = {
        re.escape(_ENDING.sub("", word) if word.isalpha() and len(word) > _SHORT_WORD else word)
        + (r"\w*" if len(word) >= _SHORT_WORD else r"s?(?!\w)")  # "not" must not match "nothing"
        for word in query_terms(query)
    }
    longest_first = sorted(stems, key=len, reverse=True)
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(longest_first) or chr(0)})", re.IGNORECASE)


def hit_text(hit: dict[str, Any]) -> str:
    """The text of a hit without the parts that its heading repeats."""
    text = str(hit["observation"])
    if hit["collection"] == "episodes":
        text = text.removeprefix("prompt: ").removeprefix("agent: ")
    elif hit["collection"] == "calls":
        place, colon, output = text.replace(f"(session {ids.shown(hit['session'])}, ", "(", 1).partition("): ")
        text = place.removeprefix(hit["origin"].partition(" ")[2] + " ") + (f")\n{output}" if colon else "")
    return f"{hit['title']}\n{text}" if hit.get("title") else text


def _rows(screen: Console, text: str) -> list[Text]:
    """A text in rows as wide as the screen, without rows that have no information."""
    lines = [Text(line.rstrip()) for line in _CLIENT_TAG.sub("", shown(text)).expandtabs(4).splitlines()]
    rows = [row for line in lines for row in line.wrap(screen, _width(screen))]
    for row in rows:
        row.rstrip()
    return [row for row in rows if not _EMPTY_ROW.fullmatch(row.plain.strip())]


def _width(screen: Console) -> int:
    return max(screen.width - INDENT, 20)


def _shortened(screen: Console, row: Text) -> Text:
    return row.wrap(screen, _width(screen) - 2)[0] + Text(" …", style="dim")


def _print_indented(screen: Console, row: Text) -> None:
    indent = INDENT - 2 * row.plain.startswith("… ")  # the ellipsis of an excerpt is in the margin
    screen.print(Text(" " * indent).append_text(row), no_wrap=True, overflow="ellipsis")


def best_rows(
    rows: Sequence[Text], words: re.Pattern[str], most: int, screen: Console, *, is_long: bool = False
) -> list[Text]:
    """The `most` neighbouring rows that contain most of the query's words, highlighted.

    If the text `is_long`, more rows are shown after the match than before it, as long as no match is lost.
    """
    found = [{match.lower()[:_SHORT_WORD] for match in words.findall(row.plain)} for row in rows]

    def worth(at: int) -> tuple[int, int]:
        inside = found[at : at + most]
        return len(set().union(*inside)), sum(map(len, inside[1:-1] or inside))

    start = max(range(max(len(rows) - most, 0) + 1), key=worth)
    if is_long and any(found):
        best = max(range(start, min(start + most, len(rows))), key=lambda at: len(found[at]))
        later = max(start, min(best - most // 3, len(rows) - most))
        start = later if worth(later)[0] == worth(start)[0] else start
    chosen = list(rows[start : start + most])
    for row in chosen:
        row.highlight_regex(words, "bold yellow")
    if start + most < len(rows):
        chosen[-1] = _shortened(screen, chosen[-1])
    if start and chosen:
        chosen[0] = Text("… ", style="dim").append_text(chosen[0])
    return chosen


def heading(hit: Any, rank: int, own: str) -> Text:
    """The number, time, project, client, session and speaker of a hit; for a note its category."""
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


# show


def draw_conversation(answer: Answer) -> None:
    """A hit with the entries around it: its neighbours first get two rows, then it may fill the screen."""
    result: Any = answer.result
    screen = console()
    parts = filter(None, (result[name] for name in ("project", "client", "folder")))
    head = safe(ids.shown(result["sessionId"]) or result["id"], "bold cyan")
    screen.print(head.append_text(safe("  " + "  ".join(parts), "dim")), no_wrap=True, overflow="ellipsis")
    entries = result["entries"]
    texts = [_entry_rows(screen, entry) for entry in entries]
    counts = _share_rows_around(screen, entries, texts, len(answer.next_actions))
    words = query_pattern(result["query"])
    for entry, rows, count in zip(entries, texts, counts, strict=True):
        if entry["match"] and count:
            rows = [rows[0], *best_rows(rows[1:], words, count - 1, screen, is_long=True)]
        kept = [*rows[: count - 1], _shortened(screen, rows[count - 1])] if 0 < count < len(rows) else rows[:count]
        for at, row in enumerate(kept):
            if at:
                _print_indented(screen, row)
            else:
                screen.print(row, no_wrap=True, overflow="ellipsis")
    if sum(counts) < sum(map(len, texts)) and result["sessionId"]:
        command = answer.next_actions[0]["command"].partition(" --before ")[0]
        answer.next_actions[0] = step(f"{command} --raw", "the whole conversation here")
    next_steps(answer, screen)


def _share_rows_around(
    screen: Console, entries: Sequence[Any], texts: Sequence[Sequence[Text]], below: int
) -> list[int]:
    """The number of rows for each entry: all get one, then the hit's neighbours two, then the hit all it needs."""
    hit = next((at for at, entry in enumerate(entries) if entry["match"]), 0)
    nearest = sorted(range(len(entries)), key=lambda at: abs(at - hit))
    free = screen.height - below - 2
    counts = [0 if free > len(entries) else 1] * len(entries)
    free -= sum(counts)
    if counts[hit : hit + 1] == [1]:
        counts[hit] = min(len(texts[hit]), screen.height // 2)
    rounds = (
        (nearest[1:NEAR_ENTRIES], LEAST_ROWS),
        (nearest[:1], screen.height),
        (nearest, 1),
        (nearest, 1 + LEAST_ROWS),
    )
    for chosen, limit in rounds:
        for at in chosen:
            more = max(0, min(free, limit - counts[at], len(texts[at]) - counts[at]))
            counts[at] += more
            free -= more
    return counts


def _entry_rows(screen: Console, entry: dict[str, Any]) -> list[Text]:
    """An entry in rows: the time and speaker, then the hit line by line, or any other entry as a paragraph."""
    time = entry["at"][:16].replace("T", " ") if entry["at"] != "unknown" else ""
    line = Text.assemble(("▌" if entry["match"] else " ", "bold yellow"), safe(f"{time}  ", "dim"))
    speaker = commands.SPEAKERS.get(entry["role"], entry["role"])
    line.append_text(safe(speaker + "  ", "bold" if entry["match"] else "blue"))
    if entry["match"]:
        return [line, *_rows(screen, entry["text"])]
    return list(line.append_text(safe(" ".join(entry["text"].split()))).wrap(screen, _width(screen)))


# how, fix and search


@view
def draw_lines(screen: Console, result: Any) -> None:
    """The lines of `how` or `fix`, on a terminal with the best last; indented lines are dim."""
    if screen.is_terminal:
        result = {key: value[::-1] if isinstance(value, list) else value for key, value in result.items()}
    for line in commands.past_lines(result):
        below = line.startswith("    ")
        text = safe(line.strip(), "dim" if below else "bold")
        screen.print(Padding(text, (0, 0, 0, INDENT) if below else 0, expand=False))


@view
def draw_search(screen: Console, result: Any) -> None:
    """Every hit with its collection, score, title and snippet; then the facets."""
    if not result["hits"]:
        screen.print(safe(result.get("reason") or f"No results for {result['query'][:120]!r}.", "yellow"))
    else:
        rows = []
        for hit in result["hits"]:
            title, snippet = hit["title"], " ".join(hit["snippet"].split())
            rows.append({**hit, "hit": snippet if title[:40] in snippet else f"{title}: {snippet}"})
        screen.print(rows_table(rows, ("collection", "score", "hit"), most=len(rows)))
    for name, counts in result.get("facets", {}).items():
        counted = ", ".join(f"{count['value']} {count['count']}" for count in counts)
        screen.print(safe(f"{name}: {counted or '–'}", "dim"))
    screen.print(safe(f"top {len(result['hits'])} of {result['totalFound']}", "dim"))
