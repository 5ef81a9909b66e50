"""The one runner of injections: asks whether a text is due, recalls, lets it be composed, and says what came of it.

An injection is a module with a NAME, and three functions: `due` decides and changes
nothing, `compose` makes the text, None where there is nothing to say, `apply` notes in the state what is to be known of
it. Hooks run them as steps of an event, `joelclaw inject …` one alone.
"""

from __future__ import annotations

import time

from core.quoting import cost
from session import session_event
from session.step import Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType
    from typing import Any

    from clients.event import Text as InjectedText
    from core.records import Hit
    from session.records import SessionState, Text
    from session.step import Context


IN_FLIGHT, ALREADY, FAILED, NO_RESULTS = "in-flight", "already-injected", "failed", "no-results"
NO_CHECKPOINT, OFF = "no-checkpoint", "off"


class Situation:
    """What the caller knows when it asks for an injection; each injection reads its own part.

    Args:
        message: what the user just said, as typed.
        percent: context usage, None where it is not known.
        files: what is edited, absolute or relative to `cwd`; they need not exist yet.
        cwd: where the agent works; "" for what the state knows, else the current folder.
        query, project: "" for the injection's own, and that of `cwd`.
        kept: what the client has left in the context word for word, beside its summary.
    """

    def __init__(
        self, context: Context, *, message: str = "", percent: float | None = None, files: Sequence[str] = (),
        cwd: str = "", query: str = "", project: str = "", kept: str = "",
    ) -> None:  # fmt: skip
        self.context = context
        self.message = message.strip()
        self.percent = percent
        self.files = files
        self.cwd = cwd
        self.query = query
        self.kept = kept
        self._project = project

    def project_of(self, state: SessionState) -> str:
        """The project that the session works on; "" where it is not known, and for a gateway, which serves all."""
        return self._project or self.context.project_of(state, self.cwd)


class Decision:
    """Whether an injection is due.

    Args:
        reason: why it is not, "" where it is.
        query: what to recall for it; "" for nothing.
        subject: what the text is on, where there are several.
        event: the event that tells why it is not due, "" for none.
        about: what result and event say of the occasion.
    """

    def __init__(
        self, reason: str = "", *, query: str = "", subject: str = "", event: str = "",
        about: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.reason = reason
        self.query = query
        self.subject = subject
        self.event = event
        self.about = about or {}


class InjectionStep(Step):
    """One injection as a step of an event."""

    def __init__(self, injection: ModuleType, situation: Situation) -> None:
        self.name = injection.NAME
        self._injection = injection
        self._situation = situation
        self.decision = Decision()
        self.reason = ""
        """Why nothing is injected."""
        self.text: Text | None = None
        self._began = time.perf_counter()
        self._took = 0.0

    def change(self, state: SessionState) -> SessionState:
        """When the user last said something."""
        return {**state, "lastMessageAt": self._situation.context.now} if self._situation.message else state

    def is_due(self, state: SessionState) -> bool:
        """As the injection decides."""
        self.decision = self._injection.due(state, self._situation)
        self.reason = self.decision.reason
        return not self.reason

    def is_busy(self) -> None:
        """Another process has it in hand."""
        self.reason = IN_FLIGHT

    def work(self, state: SessionState) -> None:
        """Recall and compose; nothing is said where the store does not answer, and it stays due."""
        decision, situation = self.decision, self._situation
        self.reason = FAILED
        found: Sequence[Hit] | None = ()
        if decision.query:
            project = situation.project_of(state)
            found = situation.context.store.recall(
                decision.query, project=project, everywhere=not project and situation.context.serves_all(state),
                min_score=getattr(self._injection, "MIN_SCORE", None),
            )  # fmt: skip
        if found is not None:
            self.text = self._injection.compose(state, situation, decision, found)
            self.reason = NO_RESULTS if self.text is None else ""
        self._took = time.perf_counter() - self._began

    def apply(self, state: SessionState) -> SessionState:
        """Count it, and remember the memories in it, so that their use can be seen."""
        text = self.text
        if self.reason == FAILED:
            return state
        state = self._injection.apply(state, self._situation, self.decision, text)
        if text is None:
            return state
        state = {**state, "counts": {**state["counts"], "injections": state["counts"]["injections"] + 1}}
        if not text["memories"]:
            return state
        given = [memory["id"] for memory in text["memories"]]
        state = {**state, "injectedMemories": [*state["injectedMemories"], *given]}
        from session.inject import feedback

        return feedback.remember(state, text["memories"], self.decision.query)

    def follow_up(self, state: SessionState, *, late: bool = False) -> None:
        """The event of an injection, and that its memories were handed to the agent."""
        text, decision, context = self.text, self.decision, self._situation.context
        if late or not (text or decision.event):
            return
        name, component = decision.event, session_event.COMPONENT
        about: dict[str, Any] = {**decision.about, "reason": self.reason}
        if text is not None:
            name, component = text["event"], text.get("component") or component
            about = {**self.about(text), **text.get("eventAbout", {})}
        is_kept = not context.is_excluded(state["cwd"])
        if not is_kept:  # it is what the user said
            about.pop("query", None)
        event = session_event.event(name, state["role"], state["sessionId"], about, context.now, component=component)
        if text is not None and is_kept:
            event["injected"] = session_event.injected(text["customType"], text["content"])
        event["recalled"] = about.get("memoryIds", ())
        context.note([event])

    def message(self) -> list[InjectedText]:
        """The text for the model, empty without one."""
        text = self.text
        return [{"customType": text["customType"], "content": text["content"]}] if text is not None else []

    def about(self, text: Text) -> dict[str, Any]:
        """What result and event say of a text."""
        return {
            **self.decision.about, **text["about"], "memoryIds": [memory["id"] for memory in text["memories"]],
            "contentChars": len(text["content"]), "estimatedTokens": cost(text["content"]),
            "duration_ms": round(self._took * 1000, 2),
        }  # fmt: skip
