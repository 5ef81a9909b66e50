"""Where a client reads its settings, and which of its events our hooks are entered for. Imports nothing dear."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Event:
    """An event that our hook is entered for. `speaks`: what we print reaches the model, so our answer is passed on."""

    __slots__ = ("name", "speaks", "timeout")

    def __init__(self, name: str, timeout: int, speaks: bool) -> None:
        self.name = name
        self.timeout = timeout
        self.speaks = speaks


class Settings:
    """The files of a client. Its `install.py` has a subclass where something goes by rules of its own.

    Args:
        name: the client's.
        variable: environment variable that names its configuration folder.
        folder: that folder below the user's home, where the variable is not set.
        file: below that folder: the settings with hooks, or our extension.
        applies: when an installation takes effect, in words.
        local_folder: in a project, where it is not `folder`.
        transcripts: below that folder, where its session files lie (a pattern).
        timeout: after which the client ends a hook, in its own unit; 0 where it loads our extension.
        end_timeout: the same for the end of a session, where the client allows no more.
        comments: the client reads comments in its settings.
        label: a hook's name on the client's screen, where it shows one.
    """

    def __init__(
        self,
        name: str,
        variable: str,
        folder: str,
        file: str,
        applies: str,
        *,
        local_folder: str = "",
        transcripts: str = "",
        timeout: int = 0,
        end_timeout: int = 0,
        comments: bool = False,
        label: str = "",
    ) -> None:
        self.name = name
        self.variable = variable
        self.folder = folder
        self.file = file
        self.applies = applies
        self.local_folder = local_folder
        self.transcripts = transcripts
        self.timeout = timeout
        self.end_timeout = end_timeout
        self.comments = comments
        self.label = label

    @property
    def events(self) -> tuple[Event, ...]:
        """The events to enter hooks for; none for a client that loads our extension."""
        if not self.timeout:
            return ()
        from clients import json_hooks

        kinds = __import__(f"clients.{self.name}.hooks", fromlist=["_"]).KINDS
        ended = {"end": self.end_timeout or self.timeout}
        return tuple(
            Event(name, ended.get(kind, self.timeout), json_hooks.speaks(kind)) for name, kind in kinds.items()
        )

    @property
    def trusted_folder(self) -> str:
        """A note on the hooks of a project, where the client asks for trust."""
        return f"{self.name} runs a project's hooks only in a folder that it was told to trust"

    def home(self) -> str:
        """The client's configuration folder."""
        given = os.environ.get(self.variable) or os.path.join("~", self.folder)
        return os.path.abspath(os.path.expanduser(given))

    def path(self, *, project: bool) -> str:
        """The file that we write to."""
        return os.path.abspath(os.path.join(self.local_folder or self.folder if project else self.home(), self.file))

    def present(self) -> bool:
        """Whether the client seems to be installed here."""
        import shutil

        return os.path.isdir(self.home()) or shutil.which(self.name) is not None

    def notes(self, _settings: dict[str, Any], *, project: bool) -> list[str]:  # noqa: ARG002  # for subclasses
        """What the user has to know or to do before the hooks run, going by the client's settings without our part."""
        return []
