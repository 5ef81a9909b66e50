"""Who said what a memory holds: user, assistant, tool NAME, web NAME, file PATH or import. Hot path.

An agent that is shown a memory must be able to tell what its user said from what stood on a page that it once read.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.store.interface import Document
    from recall.engine import Hit

USER, ASSISTANT, TOOL, WEB, FILE, IMPORT = "user", "assistant", "tool", "web", "file", "import"
_KINDS = (USER, ASSISTANT, TOOL, WEB, FILE, IMPORT)
_FOREIGN = (TOOL, WEB, FILE)
"""What neither the user nor the agent said."""
_ON_THE_WEB = ("web", "fetch", "browse", "http", "url")
"""What the names of tools hold that read pages: WebFetch, web_search, google_web_search, browser_navigate."""
_BY_AGENTS = ("observe", "mcp")
_IMPORTED = "im-"
_PATH_CHARS = 80


def of_call(tool: str) -> str:
    """Of a tool's input or output: `tool Bash`, `web WebFetch`."""
    lower = tool.lower()
    kind = WEB if any(word in lower for word in _ON_THE_WEB) else TOOL
    return f"{kind} {tool}".rstrip()


def of_document(document: Document) -> str:
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
    """A hit on one line, as `--raw` prints it: in front of what a tool, a page or a file said stands which.

    What a session was at work on in a place has a line for each. A user's own words come as they were written.
    """
    from core.output.shown import shown, shown_line  # what answers in JSON starts faster without
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
