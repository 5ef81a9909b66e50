"""A hit: its fields, its line of text, and its origin: prompt, agent, written, tool NAME, web NAME, file PATH, import.

An agent must be able to tell a prompt from a page that it once read; whose words it holds nobody knows. Hot path.
"""

from __future__ import annotations

from core import TYPE_CHECKING, clock, files
from core.project import name_of, same

if TYPE_CHECKING:
    from core.records import Document, Hit

PROMPT, AGENT, WRITTEN = "prompt", "agent", "written"
TOOL, WEB, FILE, IMPORT = "tool", "web", "file", "import"
_KINDS = ("user", PROMPT, AGENT, TOOL, WEB, FILE, IMPORT)
_FOREIGN = (TOOL, WEB, FILE)
_ON_THE_WEB = ("web", "fetch", "browse", "http", "url")  # in names of tools that read pages: WebFetch, web_search
_BY_AGENTS = ("observe", "mcp")
_IMPORTED, _PATH_CHARS = "im-", 80


def made(
    identifier: str, score: float, text: str, *, kind: str, source: str, collection: str, session: str, timestamp: str,
    path: str, project: str, origin: str, raw: float | None = None,
) -> Hit:  # fmt: skip
    """A hit; what only a document has is at its default."""
    return {
        "id": identifier, "score": round(score, 4), "rawScore": round(score if raw is None else raw, 4),
        "usageBoost": 1.0, "observation": text, "type": kind, "source": source, "collection": collection,
        "writeVerdict": "allow", "categoryId": "", "categoryConfidence": 0.0, "session": session,
        "timestamp": timestamp, "recallCount": 0, "retrievalPriority": 0.0, "privacy": "", "path": path, "title": "",
        "tags": [], "project": project, "context": "", "origin": origin, "more": 0,
    }  # fmt: skip


def of_document(document: Document, score: float, raw: float, boost: float) -> Hit:
    """The hit of a memory; what was said in a session begins with its origin."""
    origin, text, collection = origin_of(document), document["text"], document["collection"]
    if collection == "episodes":
        text = f"{origin}:{text.partition(':')[2]}"
    found = made(
        document["id"], score, text, kind=document["observation_type"] or collection, source=document["source"],
        collection=collection, session=document["session_id"], timestamp=clock.iso(document["created_at"]),
        path=document["path"], project=document["project"], origin=origin, raw=raw,
    )  # fmt: skip
    found["usageBoost"], found["writeVerdict"] = round(boost, 4), document["write_verdict"]
    found["categoryId"], found["categoryConfidence"] = document["category_id"], document["category_confidence"]
    found["recallCount"], found["retrievalPriority"] = document["recall_count"], document["retrieval_priority"]
    found["privacy"], found["title"], found["tags"] = document["privacy"], document["title"], document["tags"]
    found["context"] = document["context"]
    return found


def origin_of_call(tool: str) -> str:
    """Of a tool's input or output: `tool Bash`, `web WebFetch`."""
    lower = tool.lower()
    kind = WEB if any(word in lower for word in _ON_THE_WEB) else TOOL
    return f"{kind} {tool}".rstrip()


def origin_of(document: Document) -> str:
    """Of a memory. What `memory write` brought is written, unless its `--source` says tool, web, file …"""
    if document["collection"] == "knowledge":
        return f"{FILE} {document['path']}".rstrip()
    if document["collection"] == "episodes":
        return PROMPT if document["text"].startswith("user:") else AGENT
    said = document["source"].partition(" ")[0].partition(":")[0].lower()
    if said in _FOREIGN:
        return document["source"]
    if document["id"].startswith(_IMPORTED):  # whoever wrote that file may call himself the user
        return IMPORT
    if said in _KINDS:
        return said
    return AGENT if said in _BY_AGENTS else WRITTEN


def written(hit: Hit) -> str:
    """`written in NAME` (another project or folder) of what every project sees; "" of anything else."""
    is_for_all = hit["collection"] == "observations" and not (hit["project"] or hit["session"])
    told = is_for_all and hit["path"] not in ("", name_of(files.current_folder()))
    return f"written in {hit['path'][-_PATH_CHARS:]}" if told else ""


def is_of_another(hit: Hit, own: str) -> bool:
    """Whether it is of a project that is known and not one's own, where one has one."""
    return bool(own and hit["project"]) and not same(hit["project"], own)


def line(hit: Hit, own: str = "") -> str:
    """A hit on one line, as `--raw` prints it: in front another project than one's `own`, who said it, `written`."""
    from core.output import shown, shown_line  # what answers in JSON starts faster without
    from core.quoting import clip_path

    text = hit["observation"]
    if hit["collection"] == "work":
        return shown(text)
    kind, _, name = hit["origin"].partition(" ")
    if kind == FILE:
        said = f"{FILE} {clip_path(name, _PATH_CHARS)}".rstrip()
    else:
        said = "" if kind not in _FOREIGN else kind if hit["collection"] == "calls" else hit["origin"]
    told = ", ".join(filter(None, (said, written(hit))))
    other = f"[{hit['project'][-_PATH_CHARS:]}] " if is_of_another(hit, own) else ""
    return shown_line(other + (f"[{told}] {text}" if told else text))
