"""Text as the archive keeps it: storable, without secrets, and cut. Hot path.

What is cut before redaction can leave half of a secret, which no pattern knows. So a cut text is redacted with a margin
behind the cut, and of that margin nothing is kept.
"""

from __future__ import annotations

from core.redaction import redact
from core.words import clean

MARGIN = 24_000  # characters: more than the longest secret has (a private key, up to 20,000)


def plain(text: str) -> str:
    """The whole text without secrets."""
    return redact(clean(text).replace("\0", "\ufffd"))[0] if text else ""


def start(text: str, most: int) -> str:
    """The first `most` characters of the text without its secrets; of one full of secrets fewer."""
    kept = plain(text[: most + MARGIN])
    return (kept if len(text) <= most + MARGIN else kept[:-MARGIN])[:most]


def end(text: str, most: int) -> str:
    """The same of the last `most` characters."""
    kept = plain(text[-most - MARGIN :])
    return (kept if len(text) <= most + MARGIN else kept[MARGIN:])[-most:]


def both_ends(text: str, most: int) -> str:
    """The text without its secrets; of one that is longer than `most` the head and the tail, half of it each."""
    return plain(text) if len(text) <= most else start(text, most // 2) + "\n" + end(text, most // 2)


def one_line(text: str, most: int) -> str:
    """The beginning of a text on one line; redacted first, since a secret's name may be told by the line."""
    return " ".join(start(text, most * 8).split())[:most]


def file_path(path: str, most: int) -> str:
    """A path that can stand in any text: what breaks a line or does not show is a space, a backtick is `'`."""
    path = start(path, most)
    if path.isprintable() and "`" not in path:
        return path
    line = "".join(one if one.isprintable() else " " for one in path).replace("`", "'")
    return redact(" ".join(line.split()))[0][:most]  # joined, it may be seen as a secret
