"""How `recall`, `show`, `how`, `fix` and `search` look on a terminal. The best hit comes last, above the prompt."""

import re
from collections.abc import Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from cli.commands import recall as commands
from cli.commands import recall_hot
from cli.output import Answer, quoted, step
from cli.terminal import View, console, line, rows_table, safe
from core import quoting
from core.quoting import shown
from core.words import query_terms
from recall.hit import is_of_another, written

INDENT = 4
_ENDING = re.compile(r"(?:ing|ed|es|s|e)$")
# Rows without information: a code fence, a rule of a table, a bracket, the place of a call that succeeded.
_EMPTY_ROW = re.compile(r"(?:`{3,}\w*|[-|:+=─ ]+|[][{}(),;]+|\(prompt \d+, call \d+(?:, ok)?\))?")
_CLIENT_TAG = re.compile(r"‹/?[\w:-]+>")


def hits(answer: Answer) -> View:
    """Each hit with its origin and the rows of its text that contain most of the query's words."""
    screen = console()
    result = answer.result
    found = list(enumerate(result["hits"], 1))
    if not found:
        query = result["query"][:120].strip()
        yield safe(f"No results for {query!r}." if query else "No results.", "yellow")
        for about in recall_hot.unknown_filters(result):
            yield safe(about, "yellow")
            answer.next_actions = [step(f"joelclaw recall {quoted(result['query'])}", "the same without it")]
    words = query_pattern(f"{result['query']} {result['rewrittenQuery']}")
    for rank, hit in reversed(found):
        yield heading(hit, rank, result.get("preferredProject") or "")
        most = screen.height // 3 if rank == 1 else 3  # rows of the hit's text
        yield from best_rows(_rows(screen, hit_text(hit)), words, most)
    yield from _summary(result)
    if found:
        answer.next_actions = [step("joelclaw recall show 1", answer.next_actions[0]["description"])]


def _summary(result: dict[str, Any]) -> View:
    words = f"top {result['count']} of {result['found']}"
    if result.get("droppedByTrustPass"):
        words += f" · {result['droppedByTrustPass']} left out"
    if own := result.get("preferredProject"):
        best = result["hits"][0] if result["hits"] else None
        is_foreign = best is not None and is_of_another(best, own)
        words += f" · hit 1 is from {best['project']}, not {own}" if best and is_foreign else f" · {own} first"
    if result["hits"] or result.get("droppedByTrustPass"):
        yield line((words, "dim"), fit="cut")
    for dropped in () if result["hits"] else result.get("droppedDiagnostics", ()):
        reasons = ", ".join(dropped["reasons"])
        yield safe(f"  left out ({reasons}): {dropped['observation'][:100]}", "dim")
    if "fallback" in result:
        yield safe(f"The cluster was not used: {result['fallback']['reason']}", "yellow")


def query_pattern(query: str) -> re.Pattern[str]:
    """Matches the words of a query with any ending, to highlight them."""
    stems = {
        re.escape(_ENDING.sub("", word) if word.isalpha() and len(word) > 4 else word)
        + (r"\w*" if len(word) >= 4 else r"s?(?!\w)")  # "not" must not match "nothing"
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
        place, colon, output = text.replace(f"(session {quoting.shown_id(hit['session'])}, ", "(", 1).partition("): ")
        text = place.removeprefix(hit["origin"].partition(" ")[2] + " ") + (f")\n{output}" if colon else "")
    return f"{hit['title']}\n{text}" if hit.get("title") else text


def _rows(screen: Console, text: str) -> list[Text]:
    """A text in rows as wide as the screen, without rows that have no information."""
    lines = [Text(line.rstrip()) for line in _CLIENT_TAG.sub("", shown(text)).expandtabs(4).splitlines()]
    rows = [row for line in lines for row in line.wrap(screen, max(screen.width - INDENT, 20))]
    for row in rows:
        row.rstrip()
    return [row for row in rows if not _EMPTY_ROW.fullmatch(row.plain.strip())]


def best_rows(rows: Sequence[Text], words: re.Pattern[str], most: int) -> list[RenderableType]:
    """The `most` neighbouring rows that contain most of the query's words, highlighted; "…" marks an omission."""
    found = [{match.lower()[:4] for match in words.findall(row.plain)} for row in rows]
    last = max(len(rows) - most, 0)
    start = max(range(last + 1), key=lambda at: len(set().union(*found[at : at + most])))
    chosen = list(rows[start : start + most])
    for row in chosen:
        row.highlight_regex(words, "bold yellow")
    if start and chosen:
        chosen[0] = Text("… ", style="dim").append_text(chosen[0])
    if start < last and chosen:
        chosen[-1] = chosen[-1] + Text(" …", style="dim")
    return [line(row, indent=INDENT, fit="cut") for row in chosen]


def heading(hit: Any, rank: int, own: str) -> RenderableType:
    """The number, time, project, client, session and speaker of a hit; for a note its category."""
    of_session = bool(hit["session"]) and hit["collection"] != "knowledge"
    return line(
        (f"{rank:>2}", "bold"),
        hit["timestamp"][:16].replace("T", " ") if hit["timestamp"] != "unknown" else "",
        (hit["project"] or written(hit), "red" if is_of_another(hit, own) else "green"),
        hit["source"] if of_session and hit["source"] != hit["origin"] else "",
        (quoting.shown_id(hit["session"]) if of_session else "", "cyan"),
        (hit["origin"], "blue"),
        (hit["categoryId"].removeprefix("jc:") if hit["collection"] == "observations" else "", "magenta"),
        (hit["writeVerdict"] if hit["writeVerdict"] != "allow" else "", "yellow"),
        (f"{hit['more']} more in this session" if hit.get("more") else "", "dim"),
        fit="cut",
    )


def conversation(answer: Answer) -> View:
    """A hit in up to half of the screen, and the entries around it in a line each."""
    screen = console()
    result = answer.result
    head = (quoting.shown_id(result["sessionId"]) or result["id"], "bold cyan")
    yield line(head, *((result[name], "dim") for name in ("project", "client", "folder")), fit="cut")
    words = query_pattern(result["query"])
    for entry in result["entries"]:
        is_match = entry["match"]
        time = entry["at"][:16].replace("T", " ") if entry["at"] != "unknown" else ""
        speaker = (commands.SPEAKERS.get(entry["role"], entry["role"]), "bold" if is_match else "blue")
        begin = Text.assemble(("▌" if is_match else " ", "bold yellow"), safe(time, "dim"))
        yield line(begin, speaker, "" if is_match else " ".join(entry["text"].split()), fit="cut")
        if is_match:
            yield from best_rows(_rows(screen, entry["text"]), words, screen.height // 2)


def past_runs(answer: Answer) -> View:
    """The lines of `how` or `fix`, with the best last; indented lines are dim."""
    reverse = {key: value[::-1] if isinstance(value, list) else value for key, value in answer.result.items()}
    for text in commands.past_lines(reverse):
        is_below = text.startswith("    ")
        yield line((text.strip(), "dim" if is_below else "bold"), indent=INDENT * is_below)


def search(answer: Answer) -> View:
    """Every hit with its collection, score, title and snippet; then the facets."""
    result = answer.result
    if not result["hits"]:
        yield safe(result.get("reason") or f"No results for {result['query'][:120]!r}.", "yellow")
    else:
        rows = []
        for hit in result["hits"]:
            title, snippet = hit["title"], " ".join(hit["snippet"].split())
            rows.append({**hit, "hit": snippet if title[:40] in snippet else f"{title}: {snippet}"})
        yield rows_table(rows, ("collection", "score", "hit"), most=len(rows))
    for name, counts in result.get("facets", {}).items():
        counted = ", ".join(f"{count['value']} {count['count']}" for count in counts)
        yield safe(f"{name}: {counted or '–'}", "dim")
    yield safe(f"top {len(result['hits'])} of {result['totalFound']}", "dim")
