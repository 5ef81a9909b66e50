"""The official `typesense` client without what a command of ours does not need of it.

`import typesense` brings httpx, asyncio, ssl, logging and the client's asynchronous half: some nine tenths of its time
(docs/typesense.md has the figures). Here its packages' own modules are imported past their `__init__`, with stand-ins
for those four while that lasts; its transport is ours (`transport`). The stand-ins are taken away again, so that a
later `import asyncio` finds things as they should be. Where a later version of the client cannot be imported so, it is
imported as it comes.
"""

from __future__ import annotations

import os
import sys

from core.store.typesense import transport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NEEDED = ("sync.multi_search", "sync.api_call", "configuration", "exceptions")


class _Quiet:
    """A logger that says nothing."""

    def __getattr__(self, _: str) -> Any:
        return lambda *_, **__: None


def module(name: str) -> Any:
    """A module of the client by its name below `typesense`.

    Raises:
        ImportError: there is no client here, or none of a version with such a module.
    """
    full = "typesense." + name
    found = sys.modules.get(full)
    if found is None:
        try:
            found = _trimmed(full)
        except (ImportError, AttributeError, TypeError):
            _forget()
            __import__("typesense")
            found = __import__(full, fromlist=["_"])
    return found


def trimmed() -> bool:
    """Whether the client that is loaded is the trimmed one, which takes our transport."""
    backend = sys.modules.get("typesense.http_backend")
    return getattr(backend, "httpx", None) is _httpx()


def _httpx() -> Any:
    if not _kept:
        made = type(sys)("httpx")
        made.__dict__.update(
            {name: value for name, value in vars(transport).items() if isinstance(value, type)},
            Client=transport.Transport,
        )
        _kept.append(made)
    return _kept[0]


_kept: list[Any] = []


def _trimmed(full: str) -> Any:
    from types import ModuleType

    if "typesense" not in sys.modules:
        folder = _folder()
        for package, path in (("typesense", folder), ("typesense.sync", os.path.join(folder, "sync"))):
            made = ModuleType(package)
            made.__path__ = [path]
            sys.modules[package] = made
    stand_ins: dict[str, Any] = {"httpx": _httpx(), "httpx2": None}
    for name, values in (
        ("asyncio", {"Semaphore": object}),
        ("ssl", {"SSLContext": type("SSLContext", (), {})}),
        ("logging", {"getLogger": lambda _: _Quiet(), "WARN": 30}),
    ):
        if name not in sys.modules:
            stand_ins[name] = ModuleType(name)
            vars(stand_ins[name]).update(values)
    before = {name: sys.modules[name] for name in stand_ins if name in sys.modules}
    sys.modules.update(stand_ins)
    try:
        return __import__(full, fromlist=["_"])
    finally:
        for name in stand_ins:
            del sys.modules[name]
        sys.modules.update(before)


def _folder() -> str:
    """Where the client lies; looked for by hand, since `importlib.util` costs 4 ms."""
    for folder in sys.path:
        path = os.path.join(folder, "typesense")
        if os.path.exists(os.path.join(path, "configuration.py")):
            return path
    raise ImportError("the typesense client is not installed")


def _forget() -> None:
    for name in [name for name in sys.modules if name == "typesense" or name.startswith("typesense.")]:
        del sys.modules[name]
