"""Synthetic notes for the speed bench: sentences of a developer's week over a Zipf vocabulary, the same for a seed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

_SUBJECTS = (
    "webhook retry queue",
    "payment importer",
    "session cache",
    "search indexer",
    "billing export",
    "login flow",
    "image resizer",
    "audit log",
    "deploy script",
    "feature flags",
    "rate limiter",
    "report generator",
    "mail digest",
    "schema migration",
    "metrics dashboard",
    "websocket gateway",
)
_PATTERNS = (
    "We decided that the {s} uses {a} instead of {b} because {c} {d}.",
    "The {s} fails with {e} when {a} is {b}; the fix was in {f}.",
    "Tried {a} for the {s}, it did not work: {c} {d} {b}.",
    "User prefers {a} over {b} in the {s}, and never {c} without {d}.",
    "Run `{g}` after touching {f}, otherwise {a} {b}.",
    "The {s} takes {n} ms at p99; {a} {c} was the cause, see {f}.",
    "{n} of {m} steps of the {s} are done, blocked on {a} {d}.",
)
_SYLLABLES = "ba co di fu ga he jo ki la mo nu pe qua ri so tu ve wa xi yo zen tron flex mark port link".split()
QUERIES = (
    "why does the webhook retry queue fail",
    "user preference for the login flow",
    "what did we decide about the billing export",
    "search indexer p99 cause",
    "steps blocked schema migration",
)


def notes(count: int, seed: int = 7) -> Iterator[str]:
    """`count` distinct notes of some 15 words."""
    random_ = random.Random(seed)
    vocabulary = ["".join(random_.choices(_SYLLABLES, k=random_.choice((2, 2, 3)))) for _ in range(30_000)]
    weights = list(itertools.accumulate(1 / (rank + 10) for rank in range(len(vocabulary))))

    def word() -> str:
        return random_.choices(vocabulary, cum_weights=weights)[0]

    for number in range(count):
        yield random_.choice(_PATTERNS).format(
            s=random_.choice(_SUBJECTS),
            a=f"{word()} {word()}",
            b=word(),
            c=f"{word()} {word()} {word()}",
            d=word(),
            e=f"E{word().upper()}",
            f=f"src/{word()}/{word()}_{number}.py",
            g=f"make {word()} SEED={number}",
            n=random_.randrange(2, 9000),
            m=random_.randrange(9000, 9999),
        )
