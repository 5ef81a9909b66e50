"""A hit: its fields, its origin, its line of text, and the snippet around a match. Hot path.

The origin says how a text came in: prompt, agent, teammate, subagent, client, title, written, tool NAME, web NAME, file
PATH or import. An agent must be able to tell a prompt from a web page that it once read.
"""

from __future__ import annotations

from math import log

from core import TYPE_CHECKING, clock, files
from core.project import name_of, same
from core.store.documents import ABANDONED
from core.words import split, stem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from core.records import Document, Hit
    from recall.ranking import Ranked

EXTERNAL = ("tool", "web", "file")  # texts that neither the user nor an agent wrote
SPEAKERS = {"user": "prompt", "assistant": "agent"} | {
    name: name for name in ("teammate", "subagent", "client", "title")
}
"""What an archived message begins with, and the origin of its hit."""
CUT = "…"
CALL_CHARS = 320  # of a call or of a further passage, if nothing limits the answer

_IMPORTED = "im-"  # before the id of a document from a file; a line of our own export keeps its id
_MAX_PATH_CHARS = 80


def new_hit(identifier: str, score: float, text: str, **fields: Any) -> Hit:
    """A hit with the given fields and the contract's defaults for all others. The score is rounded."""
    hit: Any = {
        "id": identifier, "score": round(score, 4), "rawScore": round(score, 4), "usageBoost": 1.0, "observation": text,
        "type": "", "source": "", "collection": "", "writeVerdict": "allow", "categoryId": "",
        "categoryConfidence": 0.0, "session": "", "timestamp": "unknown", "recallCount": 0, "retrievalPriority": 0.0,
        "privacy": "", "path": "", "title": "", "tags": [], "project": "", "context": "", "origin": "", "more": 0,
        "isAbandoned": False,
        **fields,
    }  # fmt: skip
    return hit  # type: ignore[no-any-return]


class DocumentMatch:
    """A memory that answers a query, with its score, 0 to 1; `wanted` are the words around which its text is cut."""

    def __init__(self, document: Document, score: float, ranked: Ranked, wanted: Sequence[str]) -> None:
        self.document = document
        self.session = document["session_id"]
        self.score = score
        self.is_abandoned = ABANDONED in document["tags"]
        self.is_work = ranked.is_work
        self.words = set(split(document["text"]))
        self.more = 0  # how many worse matches repeat it
        self._ranked = ranked
        self._wanted = wanted

    def follows(self, _call: int, row: int) -> bool:
        """Whether it was said in or after the prompt in this row."""
        return row <= self.document["rowid"]

    def hit(self, room: int) -> Hit:
        """The hit, with at most `room` characters of text; with 0, the whole text."""
        hit = document_hit(self.document, self.score, self._ranked.raw, self._ranked.boost)
        hit["more"] = self.more
        text = hit["observation"]
        if 0 < room < len(text):
            speaker = f"{hit['origin']}: " if text.startswith(f"{hit['origin']}: ") else ""
            hit["observation"] = speaker + snippet(text[len(speaker) :], self._wanted, room - len(speaker))
        return hit


def document_hit(document: Document, score: float, raw: float, boost: float) -> Hit:
    """The hit of a memory. The text of an episode begins with its origin; an imported text may name its speaker."""
    origin, text = origin_of(document), document["text"]
    if document["collection"] == "episodes":
        speaker, _, said = text.partition(":")
        if speaker not in SPEAKERS:
            text = f"{origin}: {text}"
        elif not document["id"].startswith(_IMPORTED):
            text = f"{origin}:{said}"
    same_names = ("source", "collection", "path", "title", "tags", "project", "context", "privacy")
    return new_hit(
        document["id"], score, text, origin=origin, rawScore=round(raw, 4), usageBoost=round(boost, 4),
        type=document["observation_type"] or document["collection"], writeVerdict=document["write_verdict"],
        categoryId=document["category_id"], categoryConfidence=document["category_confidence"],
        session=document["session_id"], timestamp=clock.iso(document["created_at"]),
        recallCount=document["recall_count"], retrievalPriority=document["retrieval_priority"],
        isAbandoned=ABANDONED in document["tags"],
        **{name: document[name] for name in same_names},  # type: ignore[literal-required]  # keys of the TypedDict
    )  # fmt: skip


def origin_of_call(tool: str) -> str:
    """The origin of a tool's output: `tool Bash`, `web WebFetch`."""
    reads_pages = any(word in tool.lower() for word in ("web", "fetch", "browse", "http", "url"))
    return f"{'web' if reads_pages else 'tool'} {tool}".rstrip()


def origin_of(document: Document) -> str:
    """The origin of a memory. It is "written" after `memory write`, unless `--source` says tool, web, file …."""
    if document["collection"] == "knowledge":
        return f"file {document['path']}".rstrip()
    if document["collection"] == "episodes":
        other = "import" if document["id"].startswith(_IMPORTED) else "agent"
        return SPEAKERS.get(document["text"].partition(":")[0], other)
    source = document["source"].partition(" ")[0].partition(":")[0].lower()
    if source in EXTERNAL:
        return document["source"]
    if document["id"].startswith(_IMPORTED):  # the file may claim to be by the user
        return "import"
    if source in ("user", "prompt", "agent", "import"):
        return source
    return "agent" if source in ("observe", "mcp") else "written"


def written(hit: Hit) -> str:
    """`written in NAME` for a global memory from another project or folder; "" for anything else."""
    is_global = hit["collection"] == "observations" and not (hit["project"] or hit["session"])
    is_elsewhere = is_global and hit["path"] and hit["path"] != name_of(files.current_folder())
    return f"written in {hit['path'][-_MAX_PATH_CHARS:]}" if is_elsewhere else ""


def is_of_another(hit: Hit, own: str) -> bool:
    """Whether a hit belongs to a known project other than `own` ("" for none)."""
    return bool(own and hit["project"]) and not same(hit["project"], own)


def line(hit: Hit, own: str = "") -> str:
    """A hit on one line, as `--raw` prints it: `[other project] [abandoned] [origin, written in …] text`."""
    from core.quoting import clip_path, shown, shown_line  # JSON output does not need them

    text = hit["observation"]
    if hit["collection"] == "work":
        return shown(text)
    kind, _, name = hit["origin"].partition(" ")
    origin = ""
    if kind == "file":
        origin = f"file {clip_path(name, _MAX_PATH_CHARS)}".rstrip()
    elif kind in EXTERNAL:
        origin = kind if hit["collection"] == "calls" else hit["origin"]
    labels = ", ".join(filter(None, (origin, written(hit))))
    other = f"[{hit['project'][-_MAX_PATH_CHARS:]}] " if is_of_another(hit, own) else ""
    other += "[abandoned] " if hit["isAbandoned"] else ""
    return shown_line(other + (f"[{labels}] {text}" if labels else text))


def snippet(text: str, wanted: Sequence[str], room: int) -> str:
    """The lines of a text that contain most of the wanted words, in order, as many as fit in `room` characters.

    A word counts more the fewer lines contain it, and less in a further line. Among equals, the nearest to the best
    line come first. CUT marks an omission.
    """
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    if not lines or len(text) <= room:
        return "\n".join(lines)
    folded = [line.lower() for line in lines]
    weights: dict[str, float] = {}
    for word in map(str.lower, filter(None, wanted)):
        beginning = stem(word) or word
        if count := sum(beginning in line for line in folded):
            weights[beginning] = log(1 + len(lines) / count)
    contained = [[word for word in weights if word in line] for line in folded]
    values = [sum(map(weights.__getitem__, here)) for here in contained]
    best = values.index(max(values))
    if len(lines[best]) > room:
        return _cut(lines[best], wanted, room)
    considered = sorted(range(len(lines)), key=lambda at: (-values[at], abs(at - best)))[:100]  # more do not fit
    chosen: set[int] = set()
    left = room + len(CUT)
    following: int | None = best
    while following is not None:
        chosen.add(following)
        left -= len(lines[following]) + len(CUT) + 1
        for word in contained[following]:
            weights[word] /= 2
        fitting = (at for at in considered if at not in chosen and len(lines[at]) <= left)
        following = max(
            fitting, key=lambda at: (sum(map(weights.__getitem__, contained[at])), -abs(at - best)), default=None
        )
    return "\n".join(lines[at] + CUT * (at + 1 not in chosen and at < max(chosen)) for at in sorted(chosen))


def _cut(line: str, wanted: Sequence[str], room: int) -> str:
    """The part of a long line around the first wanted word that it contains, with CUT at each cut end."""
    folded = line.lower()
    place = next((at for word in wanted if word and (at := folded.find(word.lower())) >= 0), 0)
    inner = room - 2 * len(CUT)
    before = inner * 3 // 10  # what follows a match says more than what precedes it
    start = max(0, min(place - before, len(line) - inner))
    return CUT * (start > 0) + line[start : start + inner] + CUT * (start + inner < len(line))
