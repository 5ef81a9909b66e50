"""Drafts of episodes: a transcript's items become one draft per message.

A draft holds redacted, bounded strings only: what was said. What tools did is `memory.archive.session_work`'s. The last
draft, which the next message or a longer version of itself may still change, is stored as JSON between two calls: the
carry. Hot path.
"""

from __future__ import annotations

from core import ids
from core.redaction import redact
from core.words import clean
from memory.archive import plain_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypedDict

    from clients.event import Queue, Said

    class Draft(TypedDict):
        """An episode in the making."""

        id: str
        role: str
        body: str
        prompt: str
        before: str
        after: str
        at: int | None

    class Carry(TypedDict):
        """What outlives a piece: the prompt of the turn, and the last draft, if any."""

        prompt: str
        drafts: list[Draft]
        queue: list[str]
        """What the user typed ahead and the model does not know yet, "" for what the client itself put there."""
        handed: list[str]
        """Fingerprints of what was in the queue and is known now: some clients say it once more."""
        work: dict[str, str]
        """Of `memory.archive.session_work`."""


BODY_CHARS = 4000
"""Of a message: what is longer keeps its head and its tail."""
PROMPT_CHARS = 500
NEIGHBOUR_CHARS = 300
_TAIL_CHARS = 1500
_LONGEST_ID = 200
_LONGEST_QUEUE = 20
_CUT = "\n[…]\n"


def text_of(draft: Draft) -> str:
    """The episode's text: who said what."""
    return f"{draft['role']}: {draft['body']}"


def context_of(draft: Draft) -> str:
    """The prompt of the turn and both neighbours; it grows at its end only."""
    parts = [draft["prompt"], draft["before"] if draft["before"] != draft["prompt"] else "", draft["after"]]
    return "\n".join(part for part in parts if part)


def read_carry(value: Mapping[str, Any]) -> Carry:
    """The carry as it was stored; a new one where it is none."""
    try:
        drafts = value["drafts"][-1:]
        for draft in drafts:
            text_of(draft), context_of(draft), draft["id"], draft["at"]
        work = {str(key): str(text) for key, text in value["work"].items()}
        queue, handed = map(str, value["queue"]), map(str, value["handed"])
        return {
            "prompt": str(value["prompt"]), "drafts": drafts, "queue": [*queue], "handed": [*handed], "work": work,
        }  # fmt: skip
    except (TypeError, KeyError, AttributeError):
        return {"prompt": "", "drafts": [], "queue": [], "handed": [], "work": {}}


class Drafting:
    """Turns items, in order, into drafts.

    Args:
        carry: of the items before; it is changed.
        session: for the ids of messages that have none.
    """

    __slots__ = ("_by_id", "_carry", "_session", "changed", "prompts")

    def __init__(self, carry: Carry, session: str) -> None:
        self._carry = carry
        self._session = session
        self._by_id: dict[str, Draft] = {draft["id"]: draft for draft in carry["drafts"]}
        self.changed: dict[str, Draft] = {}
        """By id, those that are new or say more than before."""
        self.prompts = 0
        """How many of the user's were new."""

    def said(self, said: Said, line: bytes, number: int) -> None:
        """Add a message, the `number`th item of its line of the transcript."""
        body = bounded(said["text"])
        if not body:
            return
        identifier = identifier_of(said, self._session, line, number)
        is_user = said["role"] == "user"
        earlier = self._by_id.get(identifier)
        if earlier is not None:  # clients write a message again that they save while it grows
            if body != earlier["body"]:
                earlier["body"] = body
                self.changed[identifier] = earlier
                self._carry["prompt"] = body[:PROMPT_CHARS] if is_user else self._carry["prompt"]
            return
        if is_user and self._is_handed(body):
            return
        drafts = self._carry["drafts"]
        draft: Draft = {
            "id": identifier,
            "role": "user" if is_user else "assistant",
            "body": body,
            "prompt": "" if is_user else self._carry["prompt"],
            "before": "",
            "after": "",
            "at": said["at"],
        }
        if drafts:
            last = drafts[-1]
            draft["before"] = last["body"][:NEIGHBOUR_CHARS]
            last["after"] = body[:NEIGHBOUR_CHARS]
            self.changed[last["id"]] = last
        if is_user:
            self._carry["prompt"] = body[:PROMPT_CHARS]
            self.prompts += 1
        drafts.append(draft)
        self._by_id[identifier] = self.changed[identifier] = draft

    def queue(self, queue: Queue) -> None:
        """Follow what the user types ahead; it becomes a message when the model gets it."""
        waiting = self._carry["queue"]
        if queue["operation"] == "enqueue":
            waiting.append(bounded(queue["text"]))
            del waiting[:-_LONGEST_QUEUE]
        elif queue["operation"] == "popAll":
            waiting.clear()
        elif waiting:
            text = waiting.pop(0)
            if queue["operation"] == "remove" and text:
                # known by its text and time: lines that hand over several at once are all alike
                self.said(
                    {"kind": "said", "id": "", "role": "user", "text": text, "tools": [], "at": queue["at"]}, b"", 0
                )
                handed = self._carry["handed"]
                handed.append(ids.fingerprint(text))
                del handed[:-_LONGEST_QUEUE]

    def _is_handed(self, body: str) -> bool:
        """Whether a message was in the queue and is known already; if it still waits there, it does so no longer."""
        known = ids.fingerprint(body)
        if known in self._carry["handed"]:
            self._carry["handed"].remove(known)
            return True
        if body in self._carry["queue"]:
            self._carry["queue"][self._carry["queue"].index(body)] = ""
        return False

    def carried(self) -> Carry:
        """The carry without what can change no more."""
        return {**self._carry, "drafts": self._carry["drafts"][-1:]}


def identifier_of(said: Said, session: str, line: bytes, number: int) -> str:
    """The message's own id, else one made of its session and its line; a secret-like or long one as a hash."""
    given = said["id"]
    if not given:
        about = line.decode("utf-8", "replace") if line else f"{said['role']}\0{said['text']}\0{said['at']}"
        return "ep-" + ids.fingerprint(f"{session}\0{number}\0{about}")
    plain = clean(given).replace("\0", "\ufffd")
    if plain != given or len(plain) > _LONGEST_ID or plain.split() != [plain] or redact(plain)[1]:
        return "ep-" + ids.fingerprint(given)
    return plain


def bounded(text: str) -> str:
    """A message without secrets, its middle left out where it is too long."""
    text = text.strip()
    if len(text) > 2 * plain_text.MARGIN + BODY_CHARS:
        head, tail = plain_text.start(text, BODY_CHARS), plain_text.end(text, _TAIL_CHARS)
    else:
        head = tail = plain_text.plain(text)
        if len(head) <= BODY_CHARS:
            return head
    return head[: BODY_CHARS - _TAIL_CHARS].rstrip() + _CUT + tail[-_TAIL_CHARS:].lstrip()
