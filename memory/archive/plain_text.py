"""Text as the archive keeps it: storable, without secrets, and cut. Hot path.

What is cut before redaction can leave half of a secret, which no pattern knows. So a cut text is redacted with a margin
behind the cut, and of that margin nothing is kept.
"""

from __future__ import annotations

from core.quoting import clip
from core.redaction import redact, redact_call
from core.words import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PASSAGE_CHARS, LINE_CHARS, MOST_ERROR_LINES = 30_000, 200, 8
_OF_ERRORS = (
    "error|exception|fail|fatal|panic|denied|refused|timed out|timeout|not found|no such|undefined"
    "|cannot |can't |could not|deadlock|killed|unauthori|forbidden|expired|invalid|unknown|expected |unexpected"
    "|unrecogni|mismatch|missing|does not exist"
).split("|")
_OF_NONE = " error: exit code| 0 error| no error| 0 fail| no fail| 0 warning| no warning|[no test".split("|")
_LARGE_CHARS = 16_000  # an output that may take long: judging less of it in part costs as much as the whole
MARGIN = 24_000  # characters: more than the longest secret has (a private key, up to 20,000)


def plain(text: str, command: str = "", path: str = "") -> str:
    """The whole text without secrets; of what a call returned with the command that ran, or the path that was read."""
    return redact_call(command, path, clean(text).replace("\0", "\ufffd")) if text else ""


def start(text: str, most: int, command: str = "", path: str = "") -> str:
    """The first `most` characters of the text without its secrets; of one full of secrets fewer."""
    kept = plain(text[: most + MARGIN], command, path)
    return (kept if len(text) <= most + MARGIN else kept[:-MARGIN])[:most]


def both_ends(text: str, most: int, command: str = "", path: str = "", *, whole: bool = True) -> tuple[str, bool]:
    """The text without its secrets; of one that is longer than `most` the head and the tail, half of it each. True
    where it is not to be judged as a `whole`, and is not: so much of it looks like secrets that less of it is kept."""
    if len(text) > (most if whole else _LARGE_CHARS):
        from memory.archive import stuck

        if not whole and stuck.is_dense(text[: most // 2] + text[most // 2 :][-most // 2 :]):
            return stuck.in_part(text, lambda part: plain(part, command, path)), True
        if len(text) > most:
            return stuck.in_part(text, lambda part: plain(part, command, path), most // 2, MARGIN), False
    return plain(text, command, path), False


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


def passage_of(text: str, found: Sequence[tuple[int, str]], *, failed: bool) -> str:
    """The lines of a text in which names stand (`found`: places and names, in order), a long one cut around the name
    (`…`); of a call that `failed`, or whose outcome nobody knows, also its error lines."""
    lines: list[str] = []
    covered, room = -1, PASSAGE_CHARS
    for place, name in found:
        if place + len(name) <= covered:
            continue
        # a line may be of any length: it is looked at around the name alone
        low, high = max(0, place - LINE_CHARS), place + len(name) + LINE_CHARS
        begin = text.rfind("\n", low, place) + 1 or low
        end = text.find("\n", place, high)
        end = min(len(text), high) if end < 0 else end
        if end - begin > LINE_CHARS:
            begin = max(begin, place - LINE_CHARS // 4)
            end = min(end, max(begin + LINE_CHARS, place + len(name)))
        begin = max(begin, covered)
        room -= end - begin + 1
        if room < 0:
            break
        before, after = text[begin - 1 : begin].strip("\n"), text[end : end + 1].strip("\n")
        lines.append("…" * bool(before) + text[begin:end].strip() + "…" * bool(after))
        covered = end
    if failed:
        errors = [clip(line.strip(), LINE_CHARS) for line in text.splitlines() if is_error_line(line)]
        lines += [line for line in dict.fromkeys(errors[:MOST_ERROR_LINES]) if line not in lines]
    return "\n".join(line for line in lines if line)


def is_error_line(line: str) -> bool:
    """Whether a line tells of an error by its words, and not that there was none."""
    lower = f" {line.lower()}".replace("(", " ")
    none = lower.endswith(": 0") or any(sign in lower for sign in _OF_NONE)
    return not none and any(sign in lower for sign in _OF_ERRORS)
