"""Text as the archive stores it: printable, without secrets, and cut. Hot path.

A text that is cut before redaction may end with half of a secret, which nothing recognises. So a part is redacted
together with a margin beyond the cut, and nothing of that margin is kept.
"""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.quoting import clip
from core.redaction import redact, redact_call
from core.redaction.clues import NAME_PARTS
from core.words import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_BODY_CHARS = 4000  # of a message; if it is longer, its head and its tail are kept
MAX_PASSAGE_CHARS = 30_000
MARGIN = 24_000  # characters: more than the longest secret (a private key) has
END_CHARS = 2_000  # kept of each end of a dense text
ERROR_WORDS = (
    "error|exception|fail|fatal|panic|denied|refused|timed out|timeout|not found|no such|undefined"
    "|cannot |can't |could not|deadlock|killed|unauthori|forbidden|expired|invalid|unknown|expected |unexpected"
    "|unrecogni|mismatch|missing|does not exist"
).split("|")


def plain(text: str, command: str = "", path: str = "") -> str:
    """The whole text without secrets. For an output, give the command that ran or the path that was read."""
    text = clean(text).replace("\0", "\ufffd")
    return redact_call(command, path, text) if command or path else redact(text)[0]


def start(text: str, most: int, command: str = "", path: str = "") -> str:
    """The first `most` characters of the text without its secrets; fewer if it is full of secrets."""
    kept = plain(text[: most + MARGIN], command, path)
    return (kept if len(text) <= most + MARGIN else kept[:-MARGIN])[:most]


def both_ends(text: str, most: int, command: str = "", path: str = "") -> str:
    """The text without secrets; of a text longer than `most` the head and the tail, half of it each.

    A long text that is dense with secrets is cut much shorter, since redacting it would take seconds.
    """
    # redacting fewer characters is quick, however dense they are
    if len(text) > 16_000 and is_dense(text[: most // 2] + text[most // 2 :][-most // 2 :]):
        return in_part(text, lambda part: plain(part, command, path))
    if len(text) > most:
        return in_part(text, lambda part: plain(part, command, path), most // 2, MARGIN)
    return plain(text, command, path)


def bounded(text: str) -> str:
    """A message without secrets; the middle of a long message is left out."""
    text = text.strip()
    tail_chars = 1500
    if len(text) > 2 * MARGIN + MAX_BODY_CHARS:
        head = start(text, MAX_BODY_CHARS)
        end = tail(text, plain, tail_chars, MARGIN)
    else:
        head = end = plain(text)
        if len(head) <= MAX_BODY_CHARS:
            return head
    return head[: MAX_BODY_CHARS - tail_chars].rstrip() + "\n[…]\n" + end[-tail_chars:].lstrip()


def one_line(text: str, most: int) -> str:
    """The beginning of a text on one line; redacted before, since line breaks may show that a value is a secret."""
    return " ".join(start(text, most * 8).split())[:most]


def file_path(path: str) -> str:
    """A path that is safe in any text: at most 1,000 characters, no line breaks, invisible characters and backticks."""
    most = 1000
    path = start(path, most)
    if path.isprintable() and "`" not in path:
        return path
    return redact(words.printable_line(path).replace("`", "'"))[0][:most]  # joined, it may look like a secret


def clean_name(text: str) -> str:
    """A short field on one line, without secrets."""
    return " ".join(redact(" ".join(clean(text).replace("\0", "").split()))[0].split())[:400]


def passage_of(text: str, found: Sequence[tuple[int, str]], *, failed: bool) -> str:
    """The lines of a text that hold names, each cut around its name, and the error lines of a failed call.

    Args:
        found: offsets and names, in order.
        failed: the call failed, or its outcome is unknown.
    """
    most = 200  # characters of a line
    lines, is_whole = _lines_with(text, found, most)
    if not is_whole:  # rather without numbers than without the end
        lines, _ = _lines_with(text, [(place, name) for place, name in found if not name.isdigit()], most)
    if failed:
        errors = [clip(line.strip(), most) for line in text.splitlines() if is_error_line(line)]
        lines += [line for line in dict.fromkeys(errors[:8]) if line not in lines]
    return "\n".join(line for line in lines if line)


def _lines_with(text: str, found: Sequence[tuple[int, str]], most: int) -> tuple[list[str], bool]:
    """The lines with names, and whether there was room for all of them."""
    lines: list[str] = []
    covered, room = -1, MAX_PASSAGE_CHARS
    for place, name in found:
        if place + len(name) <= covered:
            continue
        # a line may have any length, so only the surroundings of the name are read
        low, high = max(0, place - most), place + len(name) + most
        begin = text.rfind("\n", low, place) + 1 or low
        end = text.find("\n", place, high)
        end = min(len(text), high) if end < 0 else end
        if end - begin > most:
            begin = max(begin, place - most // 4)
            end = min(end, max(begin + most, place + len(name)))
        begin = max(begin, covered)
        room -= end - begin + 1
        if room < 0:
            return lines, False
        before, after = text[begin - 1 : begin].strip("\n"), text[end : end + 1].strip("\n")
        lines.append("…" * bool(before) + text[begin:end].strip() + "…" * bool(after))
        covered = end
    return lines, True


def is_error_line(line: str) -> bool:
    """Whether a line reports an error, by its words."""
    lower = f" {line.lower()}".replace("(", " ")
    no_errors = " error: exit code| 0 error| no error| 0 fail| no fail| 0 warning| no warning|[no test".split("|")
    if lower.endswith(": 0") or any(words in lower for words in no_errors):
        return False
    return any(words in lower for words in ERROR_WORDS)


def is_dense(text: str) -> bool:
    """Whether redacting a large text would take long (some 3 s per MB), by its field names and eight samples of it."""
    if sum(map(text.lower().count, NAME_PARTS)) * 20 > len(text):  # a name of a secret every 20 characters
        return True
    step, secrets = len(text) // 8, 0
    for at in range(0, step * 8, step):
        secrets += min(4, len(redact(text[at : at + 800])[1]))
        if secrets > 7:
            return True
    return False


def in_part(text: str, plain: Callable[[str], str], size: int = END_CHARS, margin: int = END_CHARS) -> str:
    """The head and the tail of a text, `size` characters each, redacted with a margin, and how much is left out."""
    head, end = "", ""
    # a private key and a Kubernetes secret are recognised by text that may be far away
    is_key = "PRIVATE KEY" in text or ("kind" in text and "Secret" in text)
    if '"Secret' not in text and not (is_key and margin == size):
        head, end = plain(text[: size + margin]), tail(text, plain, size, margin)
        head = head[: len(head) // 2 if margin == size else -margin][:size]
    return f"{head}\n[{len(text) - len(head) - len(end)} characters left out]\n{end}".strip()


def tail(text: str, plain: Callable[[str], str], size: int, margin: int) -> str:
    """The end of a text longer than size and margin.

    The rows of a table and the values of a manifest are left out if their head, before the cut, could name a secret.
    """
    kept = plain(text[-size - margin :])
    end = kept[len(kept) // 2 if margin == size else margin :]
    rows = kept.split("\n")[1:]
    if not rows:
        return "" if "Secret" in text or "values" in text.lower() else end[-size:]
    signs = [sign for sign in "|\t;," if sign in rows[0]]
    # a row may belong to a value that began before it, or to the same table as the first row
    goes_on = (row[:1] in " \t('\"+-" or any(row.count(sign) == rows[0].count(sign) for sign in signs) for row in rows)
    first = next((at for at, is_rest in enumerate(goes_on) if not is_rest), len(rows))
    return min(end, "\n".join(rows[first:]), key=len)[-size:]
