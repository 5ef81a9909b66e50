"""An archived turn as conversation: who spoke and what was said, without the traces of tools. Off the hot path.

Episodes of earlier versions, whose transcripts are gone, hold the message first and then its tool calls, each with the
beginning of what it returned. From the first of those lines on, nothing was said by anybody. Memories that were
imported, and what a person pastes, may hold such traces too.
"""

from __future__ import annotations

import re

LONGEST = 4_600
"""Characters of a turn: more than an archived message has, less than an imported one may have."""
_SHELL = re.compile(r"(?:[\w.-]{1,40}@[\w.-]{1,60}[:\w~/.-]{0,100})?[$❯][ \t]+\S")
_TOOL_ID = re.compile(r"\b(?:toolu|call|fc|tooluse|srvtoolu)_(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{12,64}\b")
_LONE_NAME = re.compile(r"[a-z0-9]+(?:_+[a-z0-9]+)+")
_BLOCKS = (
    "function_calls",
    "antml:function_calls",
    "function_results",
    "invoke",
    "antml:invoke",
    "tool_use",
    "tool_call",
    "toolcall",
    "tool_calls",
    "tool_result",
    "tool_response",
)
_TOOLS = frozenset(
    (
        "Read Edit MultiEdit Write NotebookEdit Bash BashOutput KillShell Grep Glob LS Task Agent TodoWrite WebFetch"
        " WebSearch Skill SlashCommand ExitPlanMode ToolSearch read edit multiedit write bash grep glob find ls list"
        " task todowrite todoread webfetch websearch patch replace shell skill question tool"
    ).split()
)


def said(episode: str) -> tuple[str, str]:
    """The role, `user` or `assistant`, and what was said; "" where the turn was tool calls alone."""
    role, colon, body = episode.partition(": ")
    if not colon or role not in ("user", "assistant"):
        role, body = "user", episode  # imported from elsewhere: the speaker's name stays in the text
    body = _TOOL_ID.sub("", _without_markup(body))
    kept: list[str] = []
    fenced = False
    for line in body.splitlines():
        bare = line.strip()
        fenced ^= bare.startswith("```")
        if _SHELL.match(bare):
            if role == "assistant" and not fenced:
                break
            continue
        if role == "assistant" and not fenced and _is_tool(bare):
            break
        kept.append(line.rstrip())
    text = "\n".join(kept).strip()
    return role, text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"


def _is_tool(line: str) -> bool:
    """Whether a line is a tool call as episodes hold it: the tool's name, and the files that it writes."""
    name, *files = line.split() or [""]
    if name in _TOOLS or name.startswith("mcp__"):
        return all("/" in file or "." in file[1:-1] for file in files)
    return not files and bool(_LONE_NAME.fullmatch(name))


def _without_markup(text: str) -> str:
    """The text without tool calls that somebody wrote or pasted as markup; one that does not end takes the rest."""
    if "<" not in text:
        return text
    for name in _BLOCKS:
        begin, end = f"<{name}", f"</{name}>"
        kept, at = [], 0
        while True:
            start = text.find(begin, at)
            while start >= 0 and text[start + len(begin) :][:1] not in ("", ">", " ", "\n", "\t"):
                start = text.find(begin, start + 1)
            if start < 0:
                break
            kept.append(text[at:start])
            stop = text.find(end, start)
            at = len(text) if stop < 0 else stop + len(end)
        text = "".join([*kept, text[at:]])
    return text
