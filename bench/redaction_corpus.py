"""The texts of `make redaction-bench`: secrets in what they stand in, and what only looks like one. All made up.

`bench/redaction_corpus/*.txt` hold an item a block, `== KIND` above it. `«…»` marks a secret. `⟦ALPHABET SIZE⟧` stands
for so many characters by chance, the same in every run, and `⟦⟧` for nothing: with both, no file has a token in the
form of a provider, which scanners would report.
"""

from __future__ import annotations

import random
import string
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "redaction_corpus"
SEED = 20_260_313
STRETCH = 6
"""A secret is out where no so many characters of it in a row are left."""
ALPHABETS = {
    "hex": "0123456789abcdef",
    "b62": string.ascii_letters + string.digits,
    "b64": string.ascii_letters + string.digits + "+/",
    "urlsafe": string.ascii_letters + string.digits + "-_",
}


@dataclass(frozen=True)
class Item:
    """A text and the secrets in it, in order; none where it is harmless."""

    kind: str
    text: str
    secrets: tuple[str, ...]

    @property
    def frame(self) -> str:
        """The text without its secrets."""
        rest = self.text
        for secret in self.secrets:
            rest = rest.replace(secret, "\n", 1)
        return rest


def stretches(secret: str) -> list[str]:
    """Every run of `STRETCH` characters of a secret; the whole of a shorter one."""
    return [secret[at : at + STRETCH] for at in range(max(1, len(secret) - STRETCH + 1))]


def items(name: str) -> list[Item]:
    """The items of a file.

    Raises:
        ValueError: a secret shares a stretch with what it stands in, so that nobody could tell whether it is out.
    """
    blocks = (FOLDER / name).read_text(encoding="utf-8").split("\n== ")
    found = []
    for number, block in enumerate(blocks):
        kind, _, body = block.removeprefix("== ").partition("\n")
        text = _filled(body.removesuffix("\n"), random.Random(f"{SEED} {name} {number}"))
        parts = text.replace("»", "«").split("«")
        item = Item(kind, "".join(parts), tuple(parts[1::2]))
        for secret in item.secrets:
            if any(stretch in item.frame for stretch in stretches(secret)):
                raise ValueError(f"{name}, item {number}: {secret!r} stands in its frame too")
        found.append(item)
    return found


def halves(found: list[Item]) -> tuple[list[Item], list[Item]]:
    """The half to work with and the half kept apart, drawn by chance: the same draw every time."""
    order = list(range(len(found)))
    random.Random(SEED).shuffle(order)
    work = frozenset(order[: len(order) // 2])
    return [found[at] for at in sorted(work)], [item for at, item in enumerate(found) if at not in work]


def _filled(body: str, draw: random.Random) -> str:
    head, *rest = body.split("⟦")
    for part in rest:
        order, _, tail = part.partition("⟧")
        alphabet, _, size = order.partition(" ")
        head += "".join(draw.choice(ALPHABETS[alphabet]) for _ in range(int(size))) if order else ""
        head += tail
    return head
