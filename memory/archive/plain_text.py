"""Text as the archive keeps it: storable, without secrets, and cut. Hot path.

What is cut before redaction can leave half of a secret, which no pattern knows. So a cut text is redacted with a margin
behind the cut, and of that margin nothing is kept.
"""

from __future__ import annotations

from core.redaction import redact, redact_call
from core.words import clean

MARGIN = 24_000  # characters: more than the longest secret has (a private key, up to 20,000)


def plain(text: str, command: str = "", path: str = "") -> str:
    """The whole text without secrets; of what a call returned with the command that ran, or the path that was read."""
    return redact_call(command, path, clean(text).replace("\0", "\ufffd")) if text else ""


def start(text: str, most: int, command: str = "", path: str = "") -> str:
    """The first `most` characters of the text without its secrets; of one full of secrets fewer."""
    kept = plain(text[: most + MARGIN], command, path)
    return (kept if len(text) <= most + MARGIN else kept[:-MARGIN])[:most]


def end(text: str, most: int, command: str = "", path: str = "") -> str:
    """The same of the last `most` characters."""
    kept = plain(text[-most - MARGIN :], command, path)
    return (kept if len(text) <= most + MARGIN else kept[MARGIN:])[-most:]


def both_ends(text: str, most: int, command: str = "", path: str = "") -> str:
    """The text without its secrets; of one that is longer than `most` the head and the tail, half of it each."""
    if len(text) <= most:
        return plain(text, command, path)
    return start(text, most // 2, command, path) + "\n" + end(text, most // 2, command, path)


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
