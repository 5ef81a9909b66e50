"""Text → words: what the lexical index and the query agree on.

FTS5's `unicode61` splits at everything that is no letter or digit; but not `camelCase`, nor Chinese, Japanese or Thai,
which have no spaces: those go to an extra column as parts (camel humps, overlapping pairs of characters, and the Latin
words between them), and so do words with ł or ø, in plain letters.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_QUERY_WORDS = 64
_UNSPACED = (
    (0x0E00, 0x0E7F),  # Thai
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3400, 0x9FFF),  # CJK ideographs
    (0xAC00, 0xD7AF),  # Hangul
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)

# Question words, articles, auxiliaries and pronouns. Words of time and of negation stay: they tell answers apart.
STOP_WORDS = frozenset(
    "a about an and any are as at be been being but by can could d did do does doing for from had has have having he"
    " her hers him his how i if in into is it its ll m me my of on or our ours re s she should so some such t than that"
    " the their theirs them then there these they this those to too us ve was we were what when where which while"
    " who whom whose why will with would you your yours".split()
)

# Folders and file endings that thousands of notes hold: of a path, its phrase and its other words tell it.
_PATH_WORDS = frozenset("src lib dist py ts tsx js jsx mjs go rs json yaml yml toml md txt html css sh".split())

_PLAIN = str.maketrans({
    "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ð": "d", "đ": "d", "þ": "th", "ħ": "h", "ı": "i", "ł": "l", "ŋ": "n",
    "ŧ": "t",
})  # fmt: skip
"""Plain spellings of letters that Unicode does not decompose; of others, FTS5 removes the accents."""

_terms_of: dict[str, tuple[str, ...]] = {}
"""The terms of the last query: a recall asks for them several times."""

SPACES = {i: " " for i in range(128) if not chr(i).isalnum()}


def clean(text: str) -> str:
    """The text in storable form: lone surrogates (bytes that were not UTF-8) become U+FFFD."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)


def printable_line(text: str) -> str:
    """The text on one line, without characters that act or hide."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def listed(text: str | None) -> list[str]:
    """The different entries of a comma-separated list."""
    return list(dict.fromkeys(filter(None, map(str.strip, (text or "").split(",")))))


def is_only_redacted(text: str) -> bool:
    """Whether a text says nothing besides redacted secrets, each with at most a label: `Token: [redacted:jwt]`."""
    before, *marks = text[:4_000].lower().split("[redacted")
    for around in [before, *(mark.split("]", 1)[-1] for mark in marks)]:
        words = [word for word in around.split() if any(map(str.isalnum, word))]
        if len(words) > 1 or any("/" in word or word[-1] not in ":=" for word in words):
            return False
    return bool(marks)


def fingerprint(text: str) -> str:
    """A stable 128-bit hash of a text, as 32 hex digits: to detect change, not for secrecy."""
    try:
        from _blake2 import blake2b  # `hashlib` takes 4 ms to import
    except ImportError:  # an interpreter without the private module
        from hashlib import blake2b
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def unescaped(text: str) -> str:
    r"""The text with spaces for the ends of lines and tabs that JSON within it writes as `\n`, `\r`, `\t`."""
    return text.replace("\\n", "  ").replace("\\t", "  ").replace("\\r", "  ")


def split(text: str) -> list[str]:
    """Runs of letters and digits, lower-cased, in order: the units `unicode61` indexes."""
    return _spaced(text.replace("İ", "i").lower()).split()  # the Turkish letter would become two characters


def _spaced(text: str) -> str:
    """The text with a space for each character that is not a letter or digit; accents belong to their letters (NFC)."""
    if not text.isascii():
        if any("\u0300" <= character <= "\u036f" for character in text):  # composed text needs no `unicodedata`
            from unicodedata import normalize

            text = normalize("NFC", text)
        for character in set(text):  # even a long text has few
            if not (character.isascii() or character.isalnum()):
                text = text.replace(character, " ")
    return text.translate(SPACES)


def _unspaced(character: str) -> bool:
    code = ord(character)
    return code >= 0x0E00 and any(low <= code <= high for low, high in _UNSPACED)


def humps(word: str) -> list[str]:
    """`getUserName` → get, user, name; `HTTPServer2` → http, server, 2; nothing for a word with a single part."""
    parts: list[str] = []
    start = 0
    for i in range(1, len(word)):
        here, before = word[i], word[i - 1]
        new = (
            (here.isupper() and (before.islower() or before.isdigit()))
            or (here.isupper() and before.isupper() and i + 1 < len(word) and word[i + 1].islower())
            or (here.isdigit() != before.isdigit())
        )
        if new:
            parts.append(word[start:i].lower())
            start = i
    parts.append(word[start:].lower())
    return parts if len(parts) > 1 else []


def pairs(run: str) -> list[str]:
    """Overlapping pairs of characters without spaces: 数据库 → 数据, 据库; a single character stays."""
    return [run[i : i + 2] for i in range(len(run) - 1)] if len(run) > 1 else [run]


def _runs(text: str) -> list[str]:
    """The runs of a text in scripts without spaces."""
    return "".join(sign if _unspaced(sign) and sign.isalnum() else " " for sign in text).split()


def parts(text: str) -> str:
    """What the index holds of a text besides its words: camel-case parts, pairs of unspaced scripts, plain letters."""
    found: list[str] = []
    for word in _spaced(text).split():
        # `istitle` covers ordinary capitalised words, the common case.
        plain = word.islower() or word.isupper() or word.istitle() or word.isdigit()
        if not plain or (not word.isalpha() and not word.isdigit() and len(word) <= 64):
            found.extend(humps(word))
    if not text.isascii() and any(map(_unspaced, set(text))):
        for run in _runs(text):
            found.extend(pairs(run))
        blank = "".join(" " if _unspaced(character) else character for character in text)
        found += [word for word in split(blank) if f" {word} " not in f" {text} "]  # 检查tide_import模块 → tide, import
    if not text.isascii() and not _PLAIN.keys().isdisjoint(map(ord, set(text.lower()))):
        found += [folded for word in split(text) if (folded := word.translate(_PLAIN)) != word]  # Łódź → lódź
    return " ".join(found)


def spellings(word: str) -> list[str]:
    """The other ways to write a lower-case word: zähler ↔ zaehler, straße ↔ strasse, łódź → lódź."""
    digraphs = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"}
    written = [word.translate({ord(letter): pair for letter, pair in digraphs.items()}), word.translate(_PLAIN)]
    written += [word.replace(pair, letter) for letter, pair in digraphs.items() if pair in word]
    return [other for other in dict.fromkeys(written) if other != word]


def stem(word: str) -> str:
    """The beginning that the forms of a lower-case word share; "" if it is too short to have forms.

    The index has English stems. Words with other letters may have long endings (сообщение, сообщениями).
    """
    if len(word) < 5 or not word.isalpha() or _unspaced(word[0]):
        return word if len(word) == 1 and _unspaced(word) else ""
    return word[: max(5, len(word) - 3)] if word.isascii() else word[: max(4, (len(word) + 1) // 2)]


def query_terms(query: str) -> list[str]:
    """The terms of a query for the lexical index, words and phrases, without stop words; at most `MAX_QUERY_WORDS`."""
    if query not in _terms_of:
        _terms_of.clear()
        _terms_of[query] = tuple(_query_terms(query))
    return [*_terms_of[query]]


def _query_terms(query: str) -> list[str]:
    seen: dict[str, None] = {}
    empty: set[str] = set()
    for chunk in query.split():
        if not chunk.isascii() and any(map(_unspaced, chunk)):
            for run in _runs(chunk):
                given = pairs(run)
                seen.update(dict.fromkeys(given))
                endings = [pair for pair in given if min(pair) >= "\u3040" and max(pair) <= "\u309f"]
                if len(endings) < len(given):  # beside other letters, Hiragana are endings and particles
                    empty.update(endings)
        words = split(chunk)
        inner = chunk.strip("\"'`.,;:!?()[]{}<>*_")
        if len(words) > 1 and not all(c.isalnum() or c in "'’" for c in inner):  # `don't` is no identifier
            seen.setdefault(" ".join(words[:12]))
            words = [word for word in words if word not in _PATH_WORDS] or words
        for word in words:
            seen.setdefault(word)
        for hump in parts(chunk).split():
            seen.setdefault(hump)
        if len(seen) > 4096:
            break
    empty |= STOP_WORDS.union(_few_function_words(list(seen)[:MAX_QUERY_WORDS]))
    terms = [term for term in seen if term not in empty] or list(seen)
    if len(terms) > MAX_QUERY_WORDS:
        half = MAX_QUERY_WORDS // 2
        terms = terms[:half] + terms[-half:]
    return terms


def function_words(present: Sequence[str]) -> list[str]:
    """The function words among these lower-case words, in the language that has most of them."""
    return max(_by_language(present).values(), key=len)


def _few_function_words(present: Sequence[str]) -> list[str]:
    """The function words among these words; of English ones, only STOP_WORDS."""
    best = [word for word in present if word in STOP_WORDS]
    if len(best) * 2 >= len(present) or len(present) < 3:
        return best
    of_language = _by_language(present)
    language = max(of_language, key=lambda language: len(of_language[language]))  # English first among equals
    return best if language == b"en" or len(of_language[language]) < 2 else of_language[language]


def _by_language(present: Sequence[str]) -> dict[bytes, list[str]]:
    """By language, English first, the function words among these words."""
    with open(os.path.join(os.path.dirname(__file__), "data", "function_words.txt"), "rb") as file:
        data = file.read()
    of_language: dict[bytes, list[str]] = {b"en": []}
    for word in present:
        for language in _languages_with(word.encode(), data):
            of_language.setdefault(language, []).append(word)
    return of_language


def _languages_with(word: bytes, data: bytes) -> list[bytes]:
    """The languages in which a word is a function word, by bisection of sorted lines `word language …`."""
    low, high = 0, len(data)
    while low < high:
        start = data.rfind(b"\n", 0, (low + high) // 2) + 1
        end = data.index(b"\n", start)
        found, _, languages = data[start:end].partition(b" ")
        if found == word:
            return languages.split()
        if found < word:
            low = end + 1
        else:
            high = start
    return []
