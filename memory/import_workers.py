"""Reading, redacting, judging and embedding the lines of an import: the part that costs time and needs no store.

A large import does it in a few forked processes beside the one that writes. They live as long as the import: each ends
at the end of its pipe, so that none outlives a parent that was killed.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import orjson

from memory import json_form
from recall.static_vectors import document_vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

Line: TypeAlias = "tuple[int, bytes | None]"
_MOST_WORKERS = 4


@dataclass
class Prepared:
    """A batch of lines, ready to be stored: each memory with its vector, and the lines that are none."""

    lines: int = 0
    read_bytes: int = 0
    until: int = 0  # the number of its last line
    documents: list[tuple[json_form.Incoming, bytes]] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)


def prepare(batch: Sequence[Line], now: int, longest: int) -> Prepared:
    """Prepare numbered lines; None is a line that was too long to read, a blank one does not count."""
    prepared = Prepared(read_bytes=sum(len(raw or b"") for _, raw in batch), until=batch[-1][0])
    for number, raw in batch:
        line = raw.strip(b" \t\r\n\xef\xbb\xbf") if raw is not None else b"-"
        if not line:
            continue
        prepared.lines += 1
        try:
            if raw is None:
                raise json_form.BadLineError("longer than 16 MiB")
            incoming = json_form.from_line(orjson.loads(line), now=now, longest=longest, number=number)
        except orjson.JSONDecodeError as error:
            prepared.refused.append((number, f"not JSON: {error.msg}, at character {error.pos}"))
        except json_form.BadLineError as error:
            prepared.refused.append((number, str(error)))
        else:
            document = incoming.document
            vector = document_vector(document["text"], document["context"], document["title"])
            prepared.documents.append((incoming, vector))
    return prepared


def prepare_all(batches: Iterable[Sequence[Line]], now: int, longest: int, inline: int) -> Iterator[Prepared]:
    """Prepare batches in order: the first `inline` ones here, those behind them in processes of their own."""
    remaining = iter(batches)
    for _ in range(inline):
        batch = next(remaining, None)
        if batch is None:
            return
        yield prepare(batch, now, longest)
    batch = next(remaining, None)
    if batch is None:
        return
    count = _worker_count()
    if count < 2:
        yield prepare(batch, now, longest)
        yield from (prepare(other, now, longest) for other in remaining)
        return
    with _workers(count, lambda lines: prepare(lines, now, longest)) as idle:
        busy: deque[Connection] = deque()
        while batch is not None:
            if idle:
                busy.append(idle.pop())
                busy[-1].send(batch)
            else:
                busy.append(busy.popleft())
                prepared: Prepared = busy[-1].recv()
                busy[-1].send(batch)  # before the caller stores: the worker goes on meanwhile
                yield prepared
            batch = next(remaining, None)
        for worker in busy:
            yield worker.recv()


def _worker_count() -> int:
    """One more than there are processors to use; 0 where a process cannot be forked safely (macOS's libraries)."""
    processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    return min(processors + 1, _MOST_WORKERS) if processors > 1 else 0


@contextmanager
def _workers(count: int, work: Callable[[Sequence[Line]], Prepared]) -> Iterator[list[Connection]]:
    """Our ends of the pipes to `count` processes; they have ended when the block has."""
    from multiprocessing import get_context

    context = get_context("fork")
    ours: list[Connection] = []
    processes = []
    try:
        for _ in range(count):
            here, there = context.Pipe()
            ours.append(here)
            process = context.Process(target=_serve, args=(there, list(ours), work), daemon=True)
            process.start()
            processes.append(process)
            there.close()
        yield list(ours)
    finally:
        for end in ours:
            end.close()
        for process in processes:
            process.join(2)
            if process.is_alive():
                process.kill()


def _serve(end: Connection, others: Sequence[Connection], work: Callable[[Sequence[Line]], Prepared]) -> None:
    """Prepare what comes until the pipe ends. The parent's ends are closed here, else it never would."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    for other in others:
        other.close()
    try:
        while True:
            end.send(work(end.recv()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
