"""The one runner of injections: asks whether a text is due, recalls, lets it be composed, and says what came of it.

An injection is a module with four small functions (`Injection` below). Hooks and `joelclaw inject …` run them alike.
"""

from __future__ import annotations

import time

from core.quoting import cost
from session import session_event
from session.faults import errors_of
from session.state import schema
from session.step import Step, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NotRequired, Protocol, TypedDict

    from clients.event import Text as InjectedText
    from core.records import Hit
    from session.context import Context
    from session.state.schema import Memory, SessionState

    class Composed(TypedDict):
        """A text and the memories in it."""

        content: str
        memories: list[Memory]

    class Text(TypedDict):
        """A composed text."""

        content: str
        memories: list[Memory]
        customType: str
        event: str
        """The event that tells of it."""
        component: NotRequired[str]
        about: dict[str, Any]
        """What result and event say of it besides."""
        eventAbout: NotRequired[dict[str, Any]]
        """What only the event says."""

    class Injection(Protocol):
        """A module of `session.inject`."""

        NAME: str
        LEAST: str
        """The setting with the least score of a memory."""
        NEEDS_RECALL: bool
        """Nothing is said where the store does not answer; it stays due."""

        def due(self, state: SessionState, moment: Moment) -> str:
            """Why it is not due, "" where it is; fills in `moment.about` and `moment.subject`."""

        def query(self, state: SessionState, moment: Moment) -> str:
            """What to recall for it, "" for nothing."""

        def compose(self, state: SessionState, moment: Moment, hits: Sequence[Hit]) -> Text | None:
            """The text, None where there is nothing to say."""

        def apply(self, state: SessionState, moment: Moment, text: Text | None) -> SessionState:
            """What the state is to know of it, beside what holds for all injections."""


IN_FLIGHT, ALREADY, FAILED, NO_RESULTS = "in-flight", "already-injected", "failed", "no-results"
NO_CHECKPOINT, OFF = "no-checkpoint", "off"


class Moment:
    """What the caller knows of the moment; each injection reads its own part.

    Args:
        message: what the user just said, as typed; "" where they said nothing.
        percent: context usage, None where it is not known.
        active_at: when the session did something before this (ms since the epoch); None to tell it from the state.
        files: what is edited, absolute or relative to `cwd`; they need not exist yet.
        cwd: where the agent works; "" for what the state knows, else the current folder.
        query: "" for the injection's own.
        project: whose memories are recalled, with those of no project; "" for that of `cwd`.
    """

    __slots__ = (
        *("about", "active_at", "context", "cwd", "files"),
        *("foreign", "kept", "message", "percent", "project", "query", "skipped_event", "subject"),
    )

    def __init__(
        self,
        context: Context,
        *,
        message: str = "",
        percent: float | None = None,
        active_at: int | None = None,
        files: Sequence[str] = (),
        cwd: str = "",
        query: str = "",
        project: str = "",
    ) -> None:
        self.context = context
        self.message = message.strip()
        self.percent = percent
        self.active_at = active_at
        self.files = files
        self.cwd = cwd
        self.query = query
        self.project = project
        self.kept = ""
        """What the client has left in the context word for word, beside its summary."""
        self.subject = ""
        """What the text is on, where an injection has several; what was composed on one is not injected for another."""
        self.foreign = False
        """The query is somebody else's: it is asked of the project's own memories alone."""
        self.about: dict[str, Any] = {}
        """What result and event say of the occasion."""
        self.skipped_event = ""
        """The event that tells why it is not due, "" for none."""

    def project_of(self, state: SessionState) -> str:
        """The project that the session works on; "" where it is not known, and for a gateway, which serves all."""
        return self.project or self.context.project_of(state, self.cwd)

    def directory(self, state: SessionState) -> str:
        """Where the agent works."""
        return self.context.directory(state, self.cwd)


class InjectionStep(Step):
    """One injection as a step of an event."""

    def __init__(self, injection: Injection, moment: Moment) -> None:
        self.name = injection.NAME
        self._injection = injection
        self._moment = moment
        self._reason = ""
        """Why nothing is injected."""
        self._query = ""
        self._text: Text | None = None
        self._began = time.perf_counter()
        self._took = 0.0

    def change(self, state: SessionState) -> SessionState:
        """When the user last said something."""
        return {**state, "lastMessageAt": self._moment.context.now} if self._moment.message else state

    def is_due(self, state: SessionState) -> bool:
        """As the injection says, and for the same subject where its text is composed already."""
        moment = self._moment
        composed = (moment.subject, moment.about) if self._text is not None else None
        reason = self._injection.due(state, moment)
        if composed is not None:
            if not reason and moment.subject != composed[0]:
                reason = ALREADY
            moment.subject, moment.about = composed
        self._reason = reason or self._reason
        return not reason

    def is_busy(self) -> None:
        """Another process has it in hand."""
        self._reason = IN_FLIGHT

    def is_overtaken(self) -> None:
        """Another process has injected it, or what made it due is over."""
        self._text = None

    def work(self, state: SessionState) -> None:
        """Recall and compose."""
        moment = self._moment
        self._reason = FAILED
        self._query = self._injection.query(state, moment)
        found = None
        if self._query:
            project = moment.project_of(state)
            found = moment.context.store.recall(
                self._query,
                project=project,
                everywhere=not project and moment.context.serves_all(state),
                least=self._injection.LEAST,
                strictly=moment.foreign,
            )
        if found is not None or not self._query or not self._injection.NEEDS_RECALL:
            self._text = self._injection.compose(state, moment, found or ())
            self._reason = "" if self._text is not None else NO_RESULTS
        self._took = time.perf_counter() - self._began

    def apply(self, state: SessionState) -> SessionState:
        """Count it, and remember the memories in it, so that their use can be seen."""
        if self._reason == FAILED:
            return state
        text = self._text
        state = self._injection.apply(state, self._moment, text)
        if text is None:
            return state
        state = {**state, "counts": {**state["counts"], "injections": state["counts"]["injections"] + 1}}
        if not text["memories"]:
            return state
        given = [memory["id"] for memory in text["memories"]]
        state = {**state, "injectedMemories": [*state["injectedMemories"], *given]}
        from core import words
        from session.inject import feedback

        return feedback.remember(state, text["memories"], words.split(self._query))

    def follow_up(self, state: SessionState) -> None:
        """The event of an injection, and that its memories were handed to the agent."""
        text, moment = self._text, self._moment
        name, component, identifiers = moment.skipped_event, session_event.COMPONENT, []
        about = {**moment.about, "reason": self._reason}
        if text is not None:
            name, component = text["event"], text.get("component") or component
            about = {**self._about(text), **text.get("eventAbout", {})}
            identifiers = about["memoryIds"]
        if name:
            now, is_kept = moment.context.now, not moment.context.is_excluded(state["cwd"])
            if not is_kept:  # it is what the user said
                about.pop("query", None)
            event = session_event.event(name, state["role"], state["sessionId"], about, now, component=component)
            if text is not None and is_kept:
                event["injected"] = session_event.injected(text["customType"], text["content"])
            moment.context.note([event], recalled=identifiers)

    def message(self) -> list[InjectedText]:
        """The text for the model, empty without one."""
        text = self._text
        return [{"customType": text["customType"], "content": text["content"]}] if text is not None else []

    def result(self, state: SessionState) -> dict[str, Any]:
        """The result of `joelclaw inject …`."""
        if self._text is None:
            return result_of(self._moment.context, state, self._reason, None, self._moment.about)
        return result_of(self._moment.context, state, "injected", self._text, self._about(self._text))

    def _about(self, text: Text) -> dict[str, Any]:
        return {
            **self._moment.about,
            **text["about"],
            "memoryIds": [memory["id"] for memory in text["memories"]],
            "contentChars": len(text["content"]),
            "estimatedTokens": cost(text["content"]),
            "duration_ms": round(self._took * 1000, 2),
        }


def inject(injection: Injection, moment: Moment, *before: Step) -> dict[str, Any]:
    """One injection on its own; the result says what is injected, or why nothing is.

    Args:
        before: steps that come first.

    Raises:
        Failure: the state cannot be read or written (STATE_...).
    """
    context = moment.context
    if context.is_off(moment.cwd):
        nothing = schema.blank(context.session_id, context.role or "interactive", context.now)
        return result_of(context, context.previous or nothing, OFF, None, {})
    step = InjectionStep(injection, moment)
    state = run(moment.context, (*before, step))
    return step.result(state)


def result_of(
    context: Context, state: SessionState, reason: str, text: Text | None, about: dict[str, Any]
) -> dict[str, Any]:
    """What a command answers of an injection, or of one that was left out."""
    content = text["content"] if text is not None else ""
    result: dict[str, Any] = {
        "injected": text is not None,
        "reason": reason,
        "customType": text["customType"] if text is not None else None,
        "content": content,
        "display": False,
        "chars": len(content),
        "estimatedTokens": cost(content),
        "sessionId": state["sessionId"],
        **about,
    }
    if context.set_aside:
        result["setAside"] = context.set_aside
    return {**result, **errors_of(context.faults)}
