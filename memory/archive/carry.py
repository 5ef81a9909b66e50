"""What the archive keeps between two pieces of a session: the last message, what the user typed ahead, and more.

Hot path.
"""

from __future__ import annotations

from core import TYPE_CHECKING, json_text, words
from core.redaction import redact
from core.store import branches
from memory.archive import texts

if TYPE_CHECKING:
    from core.store.branches import Mark


class Message:
    """A message before it is stored. Its texts are redacted and bounded."""

    def __init__(self, identifier: str, role: str, at: int | None, project: str, body: str = "") -> None:
        self.id = identifier
        self.project = project
        self.role = role  # user, assistant, the origin of a note, or title
        self.at = at  # ms since the epoch
        self.prompt = ""  # of the turn, if it is an answer
        self.before = ""  # the beginning of the message before it
        self.after = ""  # the beginning of the message after it
        self.body = body

    def context(self) -> str:
        """The prompt of the turn and both neighbours; it only grows at its end."""
        parts = [self.prompt, self.before if self.before != self.prompt else "", self.after]
        return "\n".join(part for part in parts if part)


class Carry:
    """What a piece leaves to the next piece of its session. Stored by name; `last` as a list under `drafts`."""

    def __init__(self) -> None:
        self.session = ""  # to which the transcript belongs
        self.prompt = ""  # the beginning of the turn's prompt
        self.parent = ""  # the parent session
        self.kind = "main"
        self.folder = ""  # the last folder that a line names
        self.mark: Mark = branches.START  # of the last entry
        self.leaf: Mark = branches.START  # of the last entry in the tree
        self.parents = False  # entries name their parent
        self.queue: list[str] = []  # what the user typed ahead: the last twenty texts, the oldest first
        self.handed: list[str] = []  # fingerprints of such texts that the model has; the last twenty
        self.work: dict[str, str] = {}  # what `SessionCalls` waits for
        self.passed = ""  # id of the last message that was said in an excluded folder and is never archived
        self.last: Message | None = None  # the last message

    @classmethod
    def from_json(cls, text: str) -> Carry:
        """The carry as it was stored; an empty carry if the text is empty or damaged.

        With an empty carry, the next message lacks the message before it as context, a prompt that was typed ahead may
        be archived twice, the end of a background process may not reach its call, and what a client has sent from an
        excluded folder may be archived if it is sent again.
        """
        carry = cls()
        try:
            value = json_text.loads(text)
            for name, default in list(vars(carry).items()):
                if name != "last":
                    setattr(carry, name, type(default)(value.get(name, default)))
            for row in value["drafts"]:
                carry.last = Message(row["id"], row["role"], row["at"], "")
                vars(carry.last).update(row)
        except (TypeError, ValueError, KeyError, AttributeError, json_text.InvalidJSON):
            return cls()
        return carry

    def to_json(self) -> str:
        """The text to store."""
        last = [] if self.last is None else [vars(self.last)]
        stored = {name: value for name, value in vars(self).items() if name != "last"}
        kept = {"last", "script", *list(self.work)[-60:]}  # what waits longer has outlived its use
        work = {name: value for name, value in self.work.items() if name in kept}
        return json_text.dumps({**stored, "work": work, "folder": redact(self.folder)[0], "drafts": last})

    def follow_queue(self, operation: str, text: str) -> str:
        """Note what the user types while a turn runs; returns the text that becomes a message by it, or "".

        | the client writes | what becomes of the text |
        |---|---|
        | enqueue | it waits in `queue` |
        | remove: the model gets it within the turn | it is a message now |
        | the same, and then an ordinary prompt (newer versions) | `handed` remembers it: both are the same message |
        | dequeue: the ordinary prompt follows | that is the message |
        | the ordinary prompt, and then remove | that is the message; the text in `queue` becomes "" |
        | popAll: the user took everything back | nothing |

        A client also queues its own notices; their text is "".
        """
        if operation == "enqueue":
            self.queue.append(texts.bounded(text))
            del self.queue[:-20]
        elif operation == "popAll":
            self.queue.clear()
        elif self.queue and (first := self.queue.pop(0)) and operation == "remove":
            is_repeated = self.take_typed_prompt(first)  # typed twice, it is archived once
            self.handed.append(words.fingerprint(first))
            del self.handed[:-20]
            return "" if is_repeated else first
        return ""

    def take_typed_prompt(self, text: str) -> bool:
        """Take a prompt off the queue; returns whether it has left it before, and is archived."""
        fingerprint = words.fingerprint(text)
        if fingerprint in self.handed:
            self.handed.remove(fingerprint)
            return True
        if text in self.queue:
            self.queue[self.queue.index(text)] = ""
        return False

    def leave_out_quotes(self, purged: set[str]) -> None:
        """Remove the texts that may quote purged episodes, which are given by their ids."""
        self.prompt = ""
        self.queue.clear()
        if self.last and self.last.id in purged:
            self.last = None
        elif self.last:
            self.last.prompt = self.last.before = self.last.after = ""
