"""Cue phrases: which section of the summary a sentence belongs to, and how much it weighs.

The phrases are English. A sentence in another language is kept for its numbers, paths and names, or as the user's
request.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.noise import ACKNOWLEDGEMENTS, PLANS, SUMMARIES, begins_with
from session.compaction import summary_form as form
from session.inject import selection

if TYPE_CHECKING:
    from session.compaction.sentences import Sentence

Found = tuple[str, float]
"""A section and a weight, about 0 to 1.5."""

_LEAST, _SHORT = 12, 40
_AGREEMENTS = [*ACKNOWLEDGEMENTS, "good", "nice", "right", "fine"]
_LEAD_BONUS = 0.25
_LABEL_CHARS = 24
# What a sentence begins with, up to its first colon.
_LABELS = {
    **dict.fromkeys(("insight", "finding", "note", "cause", "root cause", "reason", "warning", "lesson"), form.CONTEXT),
    **dict.fromkeys(("decision", "decided", "choice"), form.DECISIONS),
    **dict.fromkeys(("blocked", "blocker"), form.BLOCKED),
    **dict.fromkeys(("next", "next step", "next steps", "todo"), form.NEXT),
    **dict.fromkeys(("done", "fixed", "result"), form.DONE),
    **dict.fromkeys(("in progress", "open", "remaining"), form.IN_PROGRESS),
}


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile(r"(?<![\w-])(?:" + "|".join(phrases) + r")(?![\w-])", re.IGNORECASE)


_RULE = _any(
    *("never", "always", "do not", "don['’]t", "must(?:n['’]t)?", "prefer(?:s|red|ence|ences)?", "only", "avoid"),
    *("without", "no more than", "at most", "at least", "please", "make sure", "ensure", "should(?:n['’]t)?", "keep"),
    *(
        "wish(?:es)?",
        "(?:after|before|with|for|on) (?:every|each)",
        "every time",
        "unless",
        "until",
        "except",
        "not yet",
    ),
    *("instead of", "rather than", "requires?d?", "requirements?", "constraints?", "rules?", "limits?", "careful"),
    *("i (?:want|need|like|would like)", "we (?:want|need|use)", "use", "first", "one (?:step|commit|file) at a time"),
    *(
        "not (?:allowed|to|the|in)",
        "may not",
        "can(?:no|['’])t",
        "nothing",
        "stick to",
        "forbidden",
        "is (?:taken|off limits)",
    ),
)
_STRICT = _any("never", "always", "must", "do not", "don['’]t", "only", "without")
_FAILED = _any(
    *(
        "failed (?:approach|attempt|idea)",
        "do not retry",
        "don['’]t retry",
        "dead end",
        "did(?: not|n['’]t) (?:work|help)",
    ),
    *(
        "(?:do|does|would|will|can|could)(?: not|n['’]t) (?:do|work|help|hold|scale)",
        "no better",
        "ruled out",
        "reverted",
    ),
    *(
        "rejected",
        "gave up",
        "abandoned",
        "made it worse",
        "deadlock(?:s|ed)?",
        "not the cause",
        "wrong (?:for|about|because)",
    ),
    *("tried", "backfires?d?"),
)
_BLOCKED = _any(
    *("blocked", "blockers?", "is blocking", "wait(?:s|ing) (?:for|on)", "pending (?:on|until|a|the)", "stuck"),
    *("can(?:no|['’])t (?:continue|proceed|go on|finish|start|be done)[^.]* (?:until|without|before)", "on hold"),
    *(
        "needs? (?:your|the user(?:['’]s)?) \\w+",
        "(?:you|the user) (?:have|has|needs?) to (?:issue|give|grant|provide|decide)",
    ),
)
_DECIDED = _any(
    *(
        "decisions?",
        "decided?",
        "decides",
        "chose",
        "chosen",
        "choose",
        "went (?:for|with)",
        "going with",
        "go with",
        "opt(?:ed)? for",
    ),
    *("instead of", "rather than", "settled on", "agreed", "we stay with", "stay(?:s|ing)? with", "stick(?:ing)? with"),
    *("i would(?! next| like| rather| then)", "trade-?off", "in favou?r of", "because", "therefore", "so that"),
)
_DONE = _any(
    *(
        "done",
        "fixed",
        "fixes",
        "completed?",
        "finished",
        "implemented",
        "pass(?:es|ed|ing)?",
        "green",
        "resolved",
        "succeed(?:s|ed)",
    ),
    *("works now", "now works", "merged", "committed", "released", "deployed", "verified", "confirmed", "in place"),
    *("(?:is|are|was|were) (?:added|created|updated|removed|renamed|written|replaced|moved)",),
    *("(?:i|we)(?:['’]ve| have)? (?:added|created|updated|removed|renamed|wrote|written|replaced|moved|changed|made)",),
)
_DID = re.compile(r"(?:added|created|updated|removed|renamed|wrote|replaced|moved|changed)\b", re.IGNORECASE)
_OPEN = _any(
    *(
        "in progress",
        "remain(?:s|ing)",
        "still (?:to|open|missing|fails?|failing|needs?|has|have)",
        "left to",
        "not (?:yet|done)",
    ),
    *(
        "half(?:-| )?way",
        "partly",
        "partially",
        "so far",
        "working on",
        "to-?dos?",
        "unfinished",
        "is open",
        "are open",
    ),
    *("isn['’]t (?:done|finished|ready)", "not (?:finished|ready|fixed|implemented|complete)", "incomplete"),
)
_NEXT = _any(
    *(
        "next steps?",
        "next",
        "then i",
        "after that",
        "afterwards",
        "when (?:it|that|this|they) (?:comes?|arrives?|is)",
        "follow-?up",
    ),
    *(
        "(?:can|should|could|must|has to|have to) (?:go|come|be done) (?:first|next|last)",
        "i(?:['’]ll| will)",
        "we(?:['’]ll| will)",
    ),
    *("going to", "plan is", "once", "later"),
)
_FOUND = _any(
    *(
        "insight",
        "causes?d?",
        "turns? out",
        "means",
        "important",
        "note",
        "found",
        "shows?",
        "the reason",
        "actually",
        "careful",
    ),
    *(
        "warning",
        "limit",
        "only",
        "never",
        "always",
        "must",
        "needs?",
        "depends?",
        "expects?",
        "defaults? to",
        "checkpoint",
    ),
    *("fails?", "failed", "failing", "breaks?", "broken", "wrong", "crash(?:es|ed)?", "errors?"),
)
_AHEAD = re.compile(
    r"(?<![\w-])(?:once|when|until|after|if|before|as soon as|will be|to be|should be)(?![\w-])", re.IGNORECASE
)
_UNDONE = re.compile(r"(?:\bnot|n['’]t|\bnever|\bno|\bhardly|\bun)\W+(?:\w+\W+){0,2}$", re.IGNORECASE)
_FREE = re.compile(r"\b(?:no(?:thing)?(?: longer)?|not|isn['’]t|aren['’]t|un)\W*(?:\w+\W+)?$", re.IGNORECASE)
_CONCRETE = re.compile(r"\d|[\w.-]/[\w.-]|`|\w_\w|\w\.[a-z]{1,4}\b|[a-z][A-Z]|(?<![\w-])--?[a-z]")


def of_user(sentence: Sentence, *, end: bool, number: int) -> Found | None:
    """A sentence of the user: a rule, else part of the goal; None for an acknowledgement.

    `end`: of the first or last message; `number`: its place there.
    """
    text = sentence.text
    if not is_concrete(text):
        if len(text) < _LEAST and text.isascii():
            return None
        if len(text) < _SHORT and begins_with(text.lower(), _AGREEMENTS):
            return None
    base = selection.weight(text)
    late = 0.08 * max(0, number - 5)  # of a pasted page the beginning tells what is wanted
    rule = _STRICT if text[-1] in "?？" else _RULE
    if rule.search(text) or (sentence.lead and _RULE.search(sentence.lead)):
        return form.CONSTRAINTS, 0.7 + 0.4 * base - late / 2
    return form.GOAL, (0.7 if end else 0.4) + 0.4 * base - late


def of_assistant(sentence: Sentence, *, last: bool) -> Found | None:
    """A sentence of the agent, None where it only talks about the work. `last`: of its last message."""
    text = sentence.text
    lower = text.lower().replace("’", "'")
    if text[-1] in "?？":
        return (form.NEXT, 0.5) if last else None
    if begins_with(lower, PLANS) and not lower.startswith("let me know"):
        return (form.NEXT, 0.45) if last else None
    if len(text) < _SHORT and begins_with(lower, ACKNOWLEDGEMENTS) and not _CONCRETE.search(text):
        return None
    section = _section(text, lower)
    base = selection.weight(text)
    concrete = _CONCRETE.search(text) is not None
    led = _led(sentence.lead)
    if led and section in ("", form.CONTEXT, form.NEXT):
        section, base = led, base + _LEAD_BONUS
    if not section:
        return (form.CONTEXT, base) if concrete else None
    if section == form.CONTEXT:
        return section, base + (0.3 if _FAILED.search(text) else 0.1 * concrete)
    if section in (form.NEXT, form.IN_PROGRESS) and not concrete:
        base -= 0.1
    return section, base + _BONUS[section]


_BONUS = {form.BLOCKED: 0.35, form.DECISIONS: 0.25, form.DONE: 0.15, form.IN_PROGRESS: 0.15, form.NEXT: 0.1}


def is_concrete(text: str) -> bool:
    """Whether a text holds a number, a path, code or an identifier."""
    return _CONCRETE.search(text) is not None


def _section(text: str, lower: str) -> str:
    label = lower[:_LABEL_CHARS].partition(":")[0]
    if ":" in lower[:_LABEL_CHARS] and label in _LABELS:
        return _LABELS[label]
    if _FAILED.search(text):
        return form.CONTEXT
    blocked = _BLOCKED.search(text)
    if blocked and not _FREE.search(text[max(0, blocked.start() - 40) : blocked.start()]):
        return form.BLOCKED
    done = _DONE.search(text)
    if done and _AHEAD.search(text[: done.start()]):
        done = None
    if done and _UNDONE.search(text[max(0, done.start() - 40) : done.start()]):
        return form.IN_PROGRESS
    decided = _DECIDED.search(text)
    if decided and not (done and done.start() < decided.start()):
        return form.DECISIONS
    if done or _DID.match(text) or begins_with(lower, SUMMARIES):
        return form.DONE
    if _OPEN.search(text):
        return form.IN_PROGRESS
    if _NEXT.search(text):
        return form.NEXT
    return form.CONTEXT if _FOUND.search(text) else ""


def _led(lead: str) -> str:
    """The section that a heading or a line with a colon announces."""
    if not lead:
        return ""
    lower = lead.lower()
    if _OPEN.search(lead) or "still" in lower:
        return form.IN_PROGRESS
    if _NEXT.search(lead):
        return form.NEXT
    if _BLOCKED.search(lead):
        return form.BLOCKED
    if _FAILED.search(lead):
        return form.CONTEXT
    if _DONE.search(lead) or "changes" in lower or "what i did" in lower:
        return form.DONE
    if _DECIDED.search(lead):
        return form.DECISIONS
    return form.CONTEXT if _RULE.search(lead) or _FOUND.search(lead) else ""
