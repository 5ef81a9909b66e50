"""Takes secrets out of text before anything is stored, logged or sent.

On the hot path: `Clues` is a cheap check for what announces a secret, and only if it finds something are the finders
loaded: `tokens` (known by their form or their randomness), `assignments` (`NAME = VALUE`, and the judgement of names
and values for all others), `prose` (sentences and logins), `structured` (fields, tables, manifests, JSON) and
`commands`. `rules` has the tables of all of them. Every step is linear in the text, and none raises on any str.
"""

from __future__ import annotations

from core import TYPE_CHECKING
from core.redaction import rules
from core.redaction.rules import ANNOUNCING, FOREIGN, KEYWORDS, NAME_PARTS

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Sequence

    from core.redaction.tokens import Span

MARK = "[redacted:"
MAX_NAME_CHARS = 120
MIN_TOKEN = 24  # characters below which no bare token is judged: more are hashes and identifiers than secrets
_MAX_WORDS = 100_000  # that are remembered

# What hides a secret: invisible characters, encoded signs, the word for "password" in another language.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SIGNS = {
    **dict.fromkeys(("\u00a0", "\u1680", "\u202f", "\u205f", "\u3000", *map(chr, range(0x2000, 0x200B))), " "),
    "\uff1a": ":", "\uff1d": "=",
    "%3d": "=", "%3a": ":", "%26": "&", "%22": '"', "\\u003d": "=", "\\u003a": ":", "\\u0026": "&", "\\u0022": '"',
    "&quot;": '"', "&#34;": '"', "&#x22;": '"', "&#39;": "'", "&#61;": "=", "&amp;": "&",
}  # fmt: skip
_PRINTABLE_HIDING = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0").union(
    _SIGNS, map(chr, range(0xFE00, 0xFE0F))
)
"""What hides a secret although `str.isprintable` accepts it."""
_ESCAPES = ("\x1b[", "\\u001b[", "\\x1b[", "\\033[")
_ENCODED = frozenset(sign for sign in _SIGNS if sign.isascii())

_ANCHORS = frozenset(
    (
        *(*KEYWORDS, *rules.LOGINS, *rules.CALLS, *FOREIGN, *_ESCAPES, *_ENCODED, *rules.OF_COMMANDS),
        *(beginning for _, beginnings, _ in rules.FORMS for beginning in beginnings),
        *(anchor for _, anchors, _ in rules.SHAPES for anchor in anchors),
    )
)
"""Every text with a secret that no random token and no login shows contains one of these."""
_PHRASES = {
    anchor: max(anchor.split(), key=len)
    for anchor in _ANCHORS
    if " " in anchor and (" " in anchor.strip() or anchor == " / ")
}
"""Anchors of several words, and the word of each that is searched first."""
_EXACT = frozenset(anchor for anchor in _ANCHORS if anchor != anchor.lower()).difference(_PHRASES)
_FOLDED = _ANCHORS.union(_PHRASES.values()).difference(_PHRASES, _EXACT)
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz ,.;()\n")
"""Anchors among nothing but plain words and a little punctuation announce no secret."""

_SEPARATORS = bytes(code if chr(code).isalnum() else 32 for code in range(128)) + b" " * 128
_patterns: dict[str, re.Pattern[str]] = {}
_index: dict[str, list[str]] = {}
"""The anchors by their longest run of letters."""
_harmless_words: set[str] = set()
"""Words of earlier texts that announce nothing: a session repeats most of its words."""
_clean_names: set[str] = set()
"""Short texts without a secret, such as the names in events, which a process checks several times."""


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with each secret replaced by `[redacted:KIND]`, and the kinds in order of appearance.

    A clean text comes back as the same object with an empty tuple. Idempotent.
    """
    if text in _clean_names:
        return text, ()
    kinds: list[str] = []
    for _ in range(6):  # taking a secret out may show another
        spans = find_secrets(text)
        if not spans:
            break
        text = _replace(text, spans)
        kinds += [kind for _, _, kind in spans]
    if not kinds and len(text) < MAX_NAME_CHARS and len(_clean_names) < 1_000:
        _clean_names.add(text)
    return text, tuple(kinds)


def redact_call(command: str, path: str, output: str) -> str:
    """The output of a call without its secrets: also those known by the command, or by the file, that printed them."""
    if output and prints_secret(command, path):
        from core.redaction.commands import find_printed

        output = _replace(output, find_printed(command, path, output))
    return redact(output)[0]


def prints_secret(command: str, path: str) -> bool:
    """Cheap pre-check: could this command, or this file, have printed a secret?"""
    call = f"{command}\n{path}".lower()
    if any(part in call for part in (*NAME_PARTS, "base64 -", ".netrc", "random", "creds", "bearer")):
        return True
    words = {"", *call.translate(str.maketrans("()=|;&`$/\"'", "           ")).split()}
    return any(words.issuperset(printing.split(" ")) for printing in rules.PRINTING)


def redact_value(value: object, plain: Callable[[str], str] = lambda text: redact(text)[0]) -> object:
    """A JSON value with every string redacted by `plain`, keys too, at any depth.

    A string under a key that names a secret is replaced whole unless it is a placeholder; likewise the strings of a
    list there, the `value` beside such a `name`, and the word after such an option. If two keys become equal, the
    second gets a `#2`.
    """
    if not _may_hold_in_value(value):
        return value
    from core.redaction.structured import redact_fields

    return redact_fields(value, plain)


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled once. `re` is loaded when the first is needed."""
    known = _patterns.get(pattern)  # the cache of `re.compile` is five times slower
    if known is None:
        import re

        known = _patterns[pattern] = re.compile(pattern)
    return known


def places_of(text: str, parts: Iterable[str]) -> list[int]:
    """Where one of the parts begins in the text."""
    places: list[int] = []
    for part in parts:
        at = text.find(part)
        while at >= 0:
            places.append(at)
            at = text.find(part, at + len(part))
    return places


def word_sets(topics: dict[str, str]) -> dict[str, frozenset[str]]:
    """The words of each topic, as a set."""
    return {topic: frozenset(words.split()) for topic, words in topics.items()}


class Clues:
    """What announces a secret in a text."""

    __slots__ = ("_present", "anchors", "is_hidden", "logins", "tokens", "words")

    def __init__(self, text: str) -> None:
        lower = text.lower()
        self.words = set(text.split()) - _harmless_words
        self._present = _anchors_in(lower, self.words)
        self.anchors = _announcing(self._present, text, lower, self.words)
        long = [word for word in self.words if len(word) >= MIN_TOKEN]
        self.tokens = [word for word in long if word.lower() != word != word.upper() and any(map(str.isdigit, word))]
        self.logins = {word for word in self.words if ":" in word[:-6] and _may_be_login(word)}
        announces = any(keyword in self.anchors for keyword in ANNOUNCING)
        self.is_hidden = (
            not self.anchors.isdisjoint(_ESCAPES)
            or any(not part[-1:].isalpha() for word in self.anchors & FOREIGN for part in lower.split(word)[:-1])
            or (announces and not self.anchors.isdisjoint(_ENCODED))
            or (not text.isascii() and _has_invisible(text))
        )

    def __bool__(self) -> bool:
        return bool(self.anchors or self.tokens or self.logins or self.is_hidden)

    def remember(self, *, is_random: bool) -> None:
        """Remember the words that announce nothing. `is_random`: one of the tokens is random."""
        parts = [anchor.strip().lower() for anchor in self._present if anchor not in _PHRASES]
        known = self.words.difference(self.logins, self.tokens if is_random else ())
        if len(_harmless_words) > _MAX_WORDS:
            _harmless_words.clear()
        _harmless_words.update(
            word for word in known if len(word) < 160 and not any(map(word.lower().__contains__, parts))
        )


def may_hold_secret(text: str) -> bool:
    """Cheap pre-check: could this text contain a secret?"""
    return bool(Clues(text))


def _anchors_in(lower: str, words: set[str]) -> set[str]:
    """The anchors in the new words of a text, and the words of phrases."""
    fresh = f" {' '.join(words)} "
    low = fresh.lower()
    folded: Iterable[str] = _FOLDED
    exact: Iterable[str] = _EXACT
    phrases: Iterable[str] = _PHRASES
    if len(low) > 1_000:  # only those whose longest run is in the text
        if not _index:
            for anchor in (*_FOLDED, *_EXACT, *_PHRASES):
                run = max(_runs_of(_PHRASES.get(anchor, anchor).lower()), key=len, default="")
                _index.setdefault(run, []).append(anchor)
        runs = " ".join(set(_runs_of(low)))
        likely = {anchor for run in filter(runs.__contains__, _index) for anchor in _index[run]}
        folded, exact, phrases = likely & _FOLDED, likely & _EXACT, likely & _PHRASES.keys()
    present = {*filter(low.__contains__, folded), *filter(fresh.__contains__, exact)}
    return present.union(filter(lower.__contains__, phrases))


def _runs_of(text: str) -> list[str]:
    """The runs of letters and digits in ASCII that are no number."""
    runs = text.encode("ascii", "replace").translate(_SEPARATORS).decode("ascii").split()
    return [run for run in runs if not run.isdigit()]


def _announcing(present: set[str], text: str, lower: str, words: set[str]) -> set[str]:
    """The anchors of a text that announce a secret; none if all are among plain words."""
    anchors = present & _ANCHORS
    if "://" in anchors and not any("@" in word for word in words if "://" in word):
        anchors.remove("://")
    if "0x" in anchors and max(map(len, words)) < 66:
        anchors.remove("0x")
    behind = [rest[:42].lstrip(" ").partition(" ")[0] for rest in text.split(" / ")[1:]] if " / " in anchors else []
    if not any(map(_may_be_password, behind)):
        anchors.discard(" / ")
    are_plain = _PLAIN.issuperset("".join(anchors)) and anchors.isdisjoint(("mnemonic", "phrase"))  # a wallet's words
    return set() if are_plain and all(_is_among_plain(lower, anchor) for anchor in anchors) else anchors


def _is_among_plain(lower: str, anchor: str) -> bool:
    """Whether only plain words surround the anchor everywhere, and it begins no line as in a netrc."""
    at = lower.find(anchor)
    while at >= 0:
        end = at + len(anchor)
        line = lower[max(0, at - 240) : at].rpartition("\n")[2]
        is_setting = not line.strip() or " login " in f" {line}"
        if is_setting or not _PLAIN.issuperset(lower[max(0, at - 240) : end + 240]):
            return False
        at = lower.find(anchor, end)
    return True


def _has_invisible(text: str) -> bool:
    """Whether characters that do not show could hide a secret."""
    data = text.encode("utf-8", "surrogatepass").translate(None, bytes(range(128)))
    signs = data.decode("utf-8", "surrogatepass")
    if not signs.isprintable() or b"\xf3\xa0" in data or not _PRINTABLE_HIDING.isdisjoint(signs):
        return True
    # after an emoji, it selects its form
    return "\ufe0f" in signs and any(before[-1:].isascii() for before in text.split("\ufe0f")[:-1])


def _may_be_login(word: str) -> bool:
    """Whether a word may be a user with a password: `root:…`."""
    value = word.partition(":")[2]
    return _may_be_password(value) and "/" not in word and ":" not in value


def _may_be_password(word: str) -> bool:
    return len(word) >= 6 and not word.isalpha() and any(map(str.isdigit, word)) and word.lower() != word.upper()


def _may_hold_in_value(value: object) -> bool:
    """As `may_hold_secret`, for a JSON value: also if a short text may be the name of a secret, or an option."""
    texts: list[str] = []
    keys: list[str] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            keys += [key for key in item if str(key).isalpha()]  # its value is another text, so it holds no secret
            waiting += [*(key for key in item if not str(key).isalpha()), *item.values()]
        elif isinstance(item, (list, tuple)):
            waiting += item
        elif isinstance(item, str):
            texts.append(item)
    names = "\n".join(text for text in keys + texts if len(text) <= MAX_NAME_CHARS).lower().replace("tokens", "")
    if any(text[:1] == "-" for text in texts) or any(map(names.__contains__, KEYWORDS)):
        return True
    # A look at all texts together costs a fifth; it may find something that no single text has.
    return may_hold_secret("\n".join(texts)) and any(map(may_hold_secret, texts))


def find_secrets(text: str) -> list[Span]:
    """The (start, end, kind) of each secret, in order and disjoint."""
    clues = Clues(text)
    spans: list[Span] = []
    if clues:
        spans = _find_obfuscated(text) if clues.is_hidden else _find_plain(text, clues)
    elif clues.words:
        clues.remember(is_random=False)
    return _merged(spans) if spans else spans


def _find_plain(text: str, clues: Clues) -> list[Span]:
    from core.redaction import prose, tokens
    from core.redaction.assignments import find_assigned
    from core.redaction.names import find_names

    lower = text.lower()
    if len(lower) != len(text):  # a letter that becomes two in lower case would shift the positions after it
        lower = "".join(char.lower() if char.isascii() else char for char in text)
    if MARK in text:  # the kind in a mark is no name
        lower = compiled(r"(?<=\[redacted:)[a-z0-9-]+").sub(lambda kind: "." * len(kind.group()), lower)
    anchors = clues.anchors
    spans = tokens.find_formed(text, clues)
    if not anchors.isdisjoint(rules.OF_COMMANDS):
        from core.redaction.commands import find_in_commands

        spans += find_in_commands(text, anchors)
    assigned, others = find_names(text, lower, anchors)
    if assigned:
        spans += find_assigned(text, assigned)
    spans += prose.find_in_prose(text, lower, others, clues)
    if assigned or others or not anchors.isdisjoint((*rules.CALLS, "secret")):
        from core.redaction.structured import find_structured

        spans += find_structured(text, lower, sorted(assigned + others))
    # by itself, even if its surroundings make it public
    is_random = bool(clues.tokens and tokens.find_random("\n".join(clues.tokens), find_secrets))
    if is_random:
        spans += tokens.find_random(text, find_secrets)
    clues.remember(is_random=is_random)
    return spans


def _find_obfuscated(text: str) -> list[Span]:
    """The secrets of a copy of the text without colours and invisible characters, and with all signs decoded."""
    from re import escape

    firsts = escape("".join({word[0] for word in ("\x1b", *_SIGNS, *FOREIGN)}))
    colour = r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033)\[[0-9;:?]{0,40}[A-Za-z]"
    verbs = r"(?:[ \t]{0,2}(?:est|es|é|è|is|это|jest|je|er|är|este)(?=[ \t:])|[ \t]{0,2}(?:是|为|為|は))?"
    pattern = compiled(
        f"(?i)(?=[{firsts}{_INVISIBLE}])"
        f"(?:({colour})|([{_INVISIBLE}]+)|({'|'.join(map(escape, _SIGNS))})"
        f"|(?<![^\\W\\d_])(?:{'|'.join(sorted(FOREIGN))})(?![a-z])({verbs}))"
    )
    parts: list[str] = []
    places: list[int] = []  # of each character of the copy in the text
    done = 0
    for match in pattern.finditer(text):
        is_colour, hidden, sign, link = match.groups()
        instead = "password is " if link else "password"
        if is_colour or hidden or sign:
            instead = " " if is_colour else _SIGNS[sign.lower()] if sign else ""
        parts += (text[done : match.start()], instead)
        places += (*range(done, match.start()), *[match.start()] * len(instead))
        done = match.end()
    places += range(done, len(text) + 1)
    decoded = "".join([*parts, text[done:]])
    spans = _find_plain(decoded, Clues(decoded))
    return [(places[first], max(places[first] + 1, places[last]), kind) for first, last, kind in spans]


def _merged(spans: list[Span]) -> list[Span]:
    """Disjoint spans in order. Overlapping ones become their union, with the kind that was found first."""
    merged: list[tuple[int, int, str, int]] = []
    covered = 0
    for start, rank, end, kind in sorted([(start, rank, end, kind) for rank, (start, end, kind) in enumerate(spans)]):
        if start < covered:
            first, last, known, best = merged[-1]
            covered = max(last, end)
            merged[-1] = (first, covered, known if best < rank else kind, min(best, rank))
        else:
            merged.append((start, end, kind, rank))
            covered = end
    return [(start, end, kind) for start, end, kind, _ in merged]


def _replace(text: str, spans: Sequence[Span]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, kind in spans:
        parts += (text[done:start], MARK, kind, "]")
        done = end
    return "".join([*parts, text[done:]])
