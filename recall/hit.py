"""A hit: its fields, its line of text, and its origin: user, assistant, tool NAME, web NAME, file PATH or import.

An agent must be able to tell what its user said from what stood on a page that it once read. Hot path.
"""

from __future__ import annotations

from core import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.records import Document, Hit

USER, ASSISTANT, TOOL, WEB, FILE, IMPORT = "user", "assistant", "tool", "web", "file", "import"
_KINDS = (USER, ASSISTANT, TOOL, WEB, FILE, IMPORT)
_FOREIGN = (TOOL, WEB, FILE)  # what neither the user nor the agent said
_ON_THE_WEB = ("web", "fetch", "browse", "http", "url")
"""What the names of tools hold that read pages: WebFetch, web_search, google_web_search, browser_navigate."""
_BY_AGENTS = ("observe", "mcp")
_IMPORTED = "im-"
_PATH_CHARS = 80


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
    """The hit of a memory."""
    return {
        "id": document["id"], "score": round(score, 4), "rawScore": round(raw, 4), "usageBoost": round(boost, 4),
        "observation": document["text"], "type": document["observation_type"] or document["collection"],
        "source": document["source"], "collection": document["collection"], "writeVerdict": document["write_verdict"],
        "categoryId": document["category_id"], "categoryConfidence": document["category_confidence"],
        "session": document["session_id"], "timestamp": clock.iso(document["created_at"]),
        "recallCount": document["recall_count"], "retrievalPriority": document["retrieval_priority"],
        "privacy": document["privacy"], "path": document["path"], "title": document["title"],
        "tags": document["tags"], "project": document["project"], "context": document["context"],
        "origin": origin_of(document), "more": 0,
    }  # fmt: skip


def origin_of_call(tool: str) -> str:
    """Of a tool's input or output: `tool Bash`, `web WebFetch`."""
    lower = tool.lower()
    kind = WEB if any(word in lower for word in _ON_THE_WEB) else TOOL
    return f"{kind} {tool}".rstrip()


def origin_of(document: Document) -> str:
    """Of a memory. What was written by hand is the user's, unless `memory write --source` says tool, web, file …"""
    if document["collection"] == "knowledge":
        return f"{FILE} {document['path']}".rstrip()
    if document["collection"] == "episodes":
        return USER if document["text"].startswith("user:") else ASSISTANT
    said = document["source"].partition(" ")[0].partition(":")[0].lower()
    if said in _FOREIGN:
        return document["source"]
    if document["id"].startswith(_IMPORTED):  # whoever wrote that file may call himself the user
        return IMPORT
    if said in _KINDS:
        return said
    return ASSISTANT if said in _BY_AGENTS else USER


def line(hit: Hit) -> str:
    """A hit on one line, as `--raw` prints it: in front of what a tool, a page or a file said stands which."""
    from core.output import shown, shown_line  # what answers in JSON starts faster without
    from core.quoting import clip_path

    text = hit["observation"]
    if hit["collection"] == "work":
        return shown(text)
    kind, _, name = hit["origin"].partition(" ")
    if kind not in _FOREIGN:
        return shown_line(text)
    if kind == FILE:
        return shown_line(f"[{FILE} {clip_path(name, _PATH_CHARS)}] {text}" if name else f"[{FILE}] {text}")
    # the text of a call begins with the tool's name
    return shown_line(f"[{kind}] {text}" if hit["collection"] == "calls" else f"[{hit['origin']}] {text}")
