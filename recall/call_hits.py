"""Names in a query (files, identifiers, options), and the tool calls that contain them. Hot path.

| a call that contains | scores |
|---|---|
| the query word for word: a copied error or command | .85 |
| the single name that the query is; the same in another case | .8; .75 |
| some of the names and words of the query | .9 · the score of its BM25: messages answer more often than tools |
| no whole name, but one that begins with the single name, or ends as its path does | .45 |

So a name comes before most documents, and a copied error before a name. A hit shows the passage around the name, and
the call's place: tool, file, session, prompt and number.
"""

from __future__ import annotations

from core import TYPE_CHECKING, clock, words
from core.store import calls
from core.store.sqlite import SMALL_INDEX
from recall import ranking
from recall.hit import CALL_CHARS, CUT, new_hit, origin_of_call, snippet

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from core.records import Filters, FoundCall, Hit
    from recall.query import Scope

CALL_PREFIX = "call:"
MAX_COMMAND_CHARS = 60  # of a command in a call's place


class QueryNames:
    """The names in a query; `words` are its other words without stop words, `phrases` the names spelled as words."""

    def __init__(self, query: str) -> None:
        bare = [bare_name(chunk) for chunk in query.split()]
        self.is_single = len(bare) == 1 and is_name(bare[0], is_single=True)
        self.names = list(dict.fromkeys(name for name in bare if is_name(name, is_single=self.is_single)))
        others = dict.fromkeys(word for name in bare if name not in self.names for word in words.split(name))
        self.words = [word for word in others if word not in words.STOP_WORDS]
        forms = ((" ".join(words.split(name)), words.parts(name) if name.isalnum() else "") for name in self.names)
        self.phrases = [phrase for both in forms for phrase in both if phrase]

    @property
    def wanted(self) -> list[str]:
        """The names, then the words."""
        return [*self.names, *self.words]

    def in_text(self, text: str) -> bool:
        """Whether a text contains one of the names, or all of its parts (`retryBackoff`: retry, backoff)."""
        units = {*words.split(text), *words.parts(text).split()}
        return contains(text, self.names) or any(units.issuperset(phrase.split()) for phrase in self.phrases)


def places_query(query: str) -> tuple[list[str], list[str]] | None:
    """The names, and the files and folders (`src/`), of a query that consists of nothing else; None for any other.

    Stop words are ignored. Such a query asks for places in the code.
    """
    names: list[str] = []
    files: list[str] = []
    chunks = query.replace(",", " ").split()
    for chunk in chunks:
        bare = bare_name(chunk)
        if (chunk.endswith("/") and len(chunk) > 1) or ("." in bare and _is_file(bare)):
            files.append(chunk if chunk.endswith("/") else bare)
        elif is_name(bare, is_single=len(chunks) == 1):
            names.append(bare.replace("::", ".").rpartition(".")[2])
        elif not words.STOP_WORDS.issuperset(words.split(bare)):
            return None
    return (names, files) if names or files else None


def _is_file(word: str) -> bool:
    from core.names import is_file  # few queries need it

    return is_file(word)


def bare_name(chunk: str) -> str:
    """A word of a query without surrounding punctuation, `./` in front and `:12` or `:12:5` at its end."""
    bare = chunk.strip("\"'`“”‘’.,;:!?()[]{}<>*#$=|&…").removesuffix("'s")
    while "/" in bare or "." in bare:
        head, colon, tail = bare.rpartition(":")
        if not (colon and tail.isdigit() and head):
            break
        bare = head
    return bare.strip("/") if bare.count("/") == 1 and bare[-1:] == "/" else bare


def is_name(bare: str, *, is_single: bool) -> bool:
    """Whether a word is an identifier, a path, an option or a long number; `is_single`: the query has no other word."""
    signs = sum(map(str.isalnum, bare))
    if signs < 3:
        return False
    if bare.isdigit():
        return is_single or len(bare) >= 5  # shorter numbers among words are lines and counts
    if bare.isalnum():
        has_digits = bare.isascii() and not bare.isalpha()
        is_camel_case = any(map(str.isupper, bare[1:])) and any(map(str.islower, bare))
        return (has_digits and signs > 3) or is_camel_case
    inner = bare.strip("-./\\:")
    if "_" in inner or "/" in inner or "\\" in inner or "::" in inner:
        return True
    if "." in inner:
        return bare.lower() not in ("e.g", "i.e", "a.m", "p.m", "u.s.a")
    if "-" in bare:
        return is_single or bare[0] == "-" or inner.count("-") > 1 or not inner.replace("-", "").isalpha()
    return False


def contains(text: str, wanted: Sequence[str]) -> bool:
    """Whether a text contains one of the wanted words, in any case."""
    lower = text.lower()
    return bool(text) and any(word.lower() in lower for word in wanted)


class CallMatch:
    """A tool call that answers a query, with its score, 0 to 1."""

    is_work = True

    def __init__(self, call: FoundCall, score: float, wanted: Sequence[str]) -> None:
        self.call = call
        self.session = call["session"]
        self.score = score
        self.raw = score  # before the preference for a project
        self.wanted = wanted
        self.is_abandoned = bool(call.get("abandoned"))
        self.fixed_by = ""  # for a failed command: the command soon after it that worked

    def follows(self, call: int, _row: int) -> bool:
        """Whether it came after the prompt that followed the call of this number."""
        return call < self.call["number"]

    def hit(self, room: int) -> Hit:
        """The hit, with at most `room` characters of text; with 0, CALL_CHARS."""
        call, room = self.call, room or CALL_CHARS
        fixed_by = f"\n{self.fixed_by[: room // 2]}" if self.fixed_by else ""
        text = call_text(call, self.wanted, room - len(fixed_by)) + fixed_by
        return new_hit(
            f"{CALL_PREFIX}{call['session']}:{call['number']}", self.score, text, rawScore=round(self.raw, 4),
            type="call", source=call["client"], collection="calls", session=call["session"],
            timestamp=clock.iso(call["at"]), path=call["file"], project=call["project"],
            origin=origin_of_call(call["tool"]), isAbandoned=self.is_abandoned,
        )  # fmt: skip

    def essence(self) -> str:
        """What distinguishes a match: the command or the file, and the words right after the name in its passage."""
        call, lower = self.call, self.call["passage"].lower()
        place = next((at for word in self.wanted if (at := lower.find(word.lower())) >= 0), -1)
        if place < 0:
            return call["command"] or f"{call['tool']} {call['file']}"
        return " ".join(words.split(call["passage"][max(0, place - 8) : place + 52]))


def matching_calls(
    db: apsw.Connection, query: str, names: QueryNames, filters: Filters, scope: Scope, limit: int
) -> list[CallMatch]:
    """The calls that answer a query, best first, each passage, command or file once.

    Of equal calls, those of the preferred project come first, then the newest.
    """
    matches = _calls_containing(db, query.strip(), names, filters) or _calls_with_prefix(db, names, filters)
    for match in matches:
        match.score = match.raw * scope.factor(match.call["project"], match.call["session"])

    def key(match: CallMatch) -> tuple[float, bool, bool, int, int]:
        call = match.call
        return -match.score, match.is_abandoned, call["project"] != scope.prefer, -(call["at"] or 0), -call["rowid"]

    matches.sort(key=key)
    different: dict[str, CallMatch] = {}
    for match in matches:
        if len(different) < limit:
            different.setdefault(match.essence(), match)
    best = list(different.values())
    for match in best:
        if match.call["outcome"] == "failed" and match.call["command"]:
            match.fixed_by = _corrected_command(db, match.call)
    return best


def _calls_containing(db: apsw.Connection, query: str, names: QueryNames, filters: Filters) -> list[CallMatch]:
    """The calls that contain the whole query, its single name, or any of its names and words; unsorted."""
    count = calls.size(db)
    if not count:
        return []
    wanted = names.wanted
    found: dict[int, CallMatch] = {}
    if names.is_single:
        for call in calls.holding_any(db, wanted, filters):
            score = 0.8 if wanted[0] in _searched_text(call) else 0.75  # in another case
            found[call["rowid"]] = CallMatch(call, score, wanted)
    elif wanted:
        half = ranking.half_bm25(len(wanted), max(count, SMALL_INDEX))
        for bm25, call in calls.best(db, wanted, filters):
            found[call["rowid"]] = CallMatch(call, 0.9 * ranking.saturated(bm25, half), wanted)
    if len(query.split()) > 1:
        for call in calls.holding_all(db, [query], filters):
            # A phrase of one or two common words was not copied from a call.
            is_distinctive = bool(names.names) or len(names.words) > 2
            if query in call["command"] or (is_distinctive and contains(_searched_text(call), [query])):
                found[call["rowid"]] = CallMatch(call, 0.85, [query, *wanted])
    return list(found.values())


def _calls_with_prefix(db: apsw.Connection, names: QueryNames, filters: Filters) -> list[CallMatch]:
    """For a single name that no call contains: calls with a longer name or, for a path, with its longest known end."""
    whole = names.names[0] if names.is_single else ""
    parts = [part for part in whole.split("/") if part]
    for name in (whole, *("/".join(parts[at:]) for at in range(1, len(parts) - 1))):
        if name and (found := calls.holding_any(db, [name], filters, beginning=True)):
            return [CallMatch(call, 0.45, [name]) for call in found]
    return []


def _searched_text(call: FoundCall) -> str:
    return "\n".join((call["tool"], call["file"], call["command"], call["error"], call["passage"]))


def _corrected_command(db: apsw.Connection, failed: FoundCall) -> str:
    """The next successful command with the program and verb of a failed command; "" if there is none."""
    from core import shell_command

    run = shell_command.steps(failed["command"])
    tried = [{step["program"], *step["verb"].split()} for step in run if shell_command.does(step)]
    for number, command in calls.successful_after(db, failed, 10):
        ran = [{step["program"], *step["words"]} for step in shell_command.steps(command)]
        if any(program <= words_run for program in tried for words_run in ran):
            shown = "the same" if command == failed["command"] else " ".join(command.split())
            return f"then ok (call {number}): {shown}"
    return ""


def call_text(call: FoundCall, wanted: Sequence[str], room: int) -> str:
    """`place: passage` in about `room` characters; a command that was asked for is not cut."""
    command, first = call["command"], wanted[0] if wanted else ""
    lines = [
        line for line in (call["error"], *call["passage"].splitlines()) if line.strip() and line.strip() not in command
    ]
    shows_command = contains(command, wanted) or not contains("\n".join(lines), wanted)
    if command and shows_command and (call["file"] or len(" ".join(command.split())) > MAX_COMMAND_CHARS):
        lines.insert(0, command)  # there is no room for it in the place
        call = {**call, "command": ""}
    where = call_place(call)
    left = max(room - len(where) - 2, 60)
    if left < len(first) <= 400:  # a command or an error, word for word
        left = len(first) + 2 * len(CUT)
    passage = snippet("\n".join(dict.fromkeys(lines)), wanted, left)
    return f"{where}: {passage}" if passage else where


def call_place(call: FoundCall) -> str:
    """`Bash make test (session 1a2b3c4d, prompt 3, call 17, failed)`."""
    from core import quoting, shell_command

    command = quoting.clip(" ".join(call["command"].split()), MAX_COMMAND_CHARS)
    head = f"{call['tool']} {quoting.clip_path(call['file'], 110) or command}".strip()
    outcome = shell_command.reliable_outcome(call["command"], call["outcome"])
    suffix = f", {outcome}" if outcome == "failed" or (outcome and not call["file"]) else ""
    return (
        f"{head} (session {quoting.shown_id(call['session'])}, prompt {call['prompt']}, call {call['number']}{suffix})"
    )
