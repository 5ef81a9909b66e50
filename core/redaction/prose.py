"""Finds the secret that somebody tells in a sentence: "the password for staging is …", "I set the pw to …".

A name of a secret is followed word by word, a dozen words at most, so that the time is linear in the text.
"""

from __future__ import annotations

from core.redaction.names import BEFORE, LINKS, OPENERS, Name, Span, is_placeholder, is_prose, is_stated
from core.redaction.terms import is_technical

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_REACH = 220
_MOST_WORDS = 12
_SURE = frozenset(["is", "was", "are", "will", "should", "has", "were", "be"])
_NAME_PARTS = ("pass", "pw", "secret", "token", "key", "auth", "credential")
_DIGITS = frozenset("0123456789")
_SIGNS = frozenset("!#$%^&*+=@~?")
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "„": "“", "«": "»"}
_BEHIND = frozenset(" \t'’,\"`*)(")
_MARKS = frozenset("\"'`()[]{}<>\\$")
_LOOSE = frozenset(["password", "pw", "pass"])
_FAMILIES = _LOOSE | frozenset(["secret", "token", "api-key", "private-key"])
# What is numbered and stands behind "password" without being one.
_NOT_TOLD = frozenset(
    (
        "field reset manager hash policy prompt form input column entry check step version rule test case example user "
        "password passwd token secret key length min max level type option group page file line row label hint name "
        "value change update login account auth protected encrypted based generator validator strength storage"
    ).split()
)
_TOLD_OF = frozenset("was is works worked does did has had no for on and or in to expired leaked never still".split())
_REPLACED = r"\A[\"'`”’*]{0,3} (?:to|auf|was replaced by|was replaced with|was changed to) "
_PLAIN_LINKS = frozenset(["is", "was", "=", ":", "->", "→"])
"""Behind the verb "pass" others of them stand: "options to pass to the linker"."""
_DATABASE = ("role ", "user ", "login ", "identified", "alter ", "create ", "machine ", "connect ", "set password ")
_CHANGING = ("chang", "set", "updat", "rotat", "switch", "renam", "geändert", "gesetzt")
_CHANGED_IT = r"passw[^\n]{0,160}?\b(?:changed?|set|reset|updated?|rotated) it to "
_LISTED = r"passwords[ *\"']{0,4}(?::|=|are |were )"


def find_told(text: str, lower: str, names: list[Name]) -> list[Span]:
    """The (start, end, kind) of each value that a sentence, or SQL, gives to one of the names."""
    found: list[tuple[int, int]] = []
    if " it to " in lower and "passw" in lower:
        found += [_told(text, match.end(), True, True) for match in _matches(_CHANGED_IT, lower)]
    spans = [(*one, "password") for one in found + _listed(text, lower) if one[1]]
    done = 0
    for start, end, kind in names:
        if kind not in _FAMILIES or start < done or text[end : end + 1] not in _BEHIND or text[start] == "-":
            continue
        if text[end + 1 : end + 2] == "-" and text[end + 2 : end + 3] not in "- >":
            continue  # an option
        loose = kind in _LOOSE
        label = "password" if loose else kind
        at, stop = _value_behind(text, lower, start, end, loose, kind != "pass")
        if not stop and loose and kind != "pass" and text.endswith(" ", 0, start):
            at, stop = _value_before(text, lower, start)
            if stop:
                spans.append((at, stop, label))
            continue
        while stop:
            spans.append((at, stop, label))
            done = stop
            link = next(_matches(_REPLACED, text[stop : stop + 32]), None)  # "changed from … to …"
            at, stop = _told(text, stop + link.end(), loose, True) if link is not None else (0, 0)
    return spans


def _matches(pattern: str, text: str) -> Iterator[re.Match[str]]:
    import re

    return re.finditer(pattern, text)


def _listed(text: str, lower: str) -> list[tuple[int, int]]:
    """Each of "passwords: …, … and …" and "the passwords are …"."""
    found: list[tuple[int, int]] = []
    for match in _matches(_LISTED, lower) if "passwords" in lower else ():
        at = match.end()
        line = text[at : at + _REACH].split("\n", 1)[0]
        for number, word in enumerate(line.split(" ", _MOST_WORDS)[:_MOST_WORDS]):
            if word and word not in ("and", "or", "und", "&", "-"):
                told = _told(text, at, True, True) if _may_be_told(word) else (0, 0)
                if not told[1] and number > 1:
                    break
                found.append(told)
            at += len(word) + 1
    return found


def _alone(lower: str, at: int, word: str) -> tuple[int, int]:
    """A plain word with digits behind the name of a password, where nothing else stands there or says what it did."""
    value = word.rstrip(".,;:!?")
    stem = value.rstrip("0123456789")
    mixed = value.isalnum() and value.isascii() and len(stem) > 2 and not _DIGITS.isdisjoint(value)
    if len(value) < 7 or not mixed or not value[0].isalpha() or stem in _NOT_TOLD or is_technical(value):
        return 0, 0
    rest = lower[at + len(word) : at + len(word) + 24].split("\n", 1)[0].strip()
    alone = word != value or not rest or rest[0] in ".,;:!?)\"'" or rest.split(" ", 1)[0] in _TOLD_OF
    return (at, at + len(value)) if alone and not is_placeholder(value) else (0, 0)


def _value_behind(text: str, lower: str, start: int, end: int, loose: bool, juxtaposed: bool) -> tuple[int, int]:
    """Where the value behind a name stands, (0, 0) for none."""
    if text[end] == "(":  # SQL: `PASSWORD('…')`
        called = lower[start:end] == "password" and text[end + 1 : end + 2] == "'" and _is_sql(lower, start, "'")
        return _told(text, end + 1, loose, True, any_word=True) if called else (0, 0)
    at, linked = _behind_name(text, end, loose)
    rest = lower[at : end + _REACH].split("\n", 1)[0].split("\\n", 1)[0].replace("\t", " ")
    words: list[tuple[int, str]] = []
    for word in rest.split(" ", _MOST_WORDS):
        if word:
            words.append((at, word))
        at += len(word) + 1
    if not words or (not juxtaposed and words[0][1] not in _PLAIN_LINKS):
        return 0, 0
    if len(words) > 1 and words[0][1] in _SURE and words[1][1].isalpha() and words[1][1] not in LINKS:
        return 0, 0  # "password is required", as most are
    at, word = words[0]
    if is_stated(text, lower, start, loose):
        if _MARKS.isdisjoint(word):
            return (at, at + len(word)) if len(word) > 3 and not is_placeholder(word) else (0, 0)
        return _told(text, at, loose, True, any_word=True)
    if juxtaposed and not linked and _may_be_told(word):
        found = _told(text, at, loose, False, any_word=loose and _is_sql(lower, start, word))
        if not found[1] and loose:
            found = _alone(lower, at, word)
        if found[1]:
            return found
    return _followed(text, lower, start, end, loose, linked, words)


def _behind_name(text: str, at: int, loose: bool) -> tuple[int, bool]:
    """Where the words behind a name begin, and whether the first is the value: behind "password's", "**password**:"."""
    if text.startswith(("'s ", "’s "), at):
        return at + 3, True
    aside, closed, rest = text[at + 2 : at + 48].partition(")")
    if text.startswith(" (", at) and closed and rest[:1] in (":", "=") and "\n" not in aside:
        return at + len(aside) + 4, True  # "password (staging): …"
    if text[at] == "*" and text[at : at + 6].lstrip("*").startswith(":"):
        return text.index(":", at) + 1, True
    if text[at] in "\"'`*)" and text[at + 1 : at + 2] in " ,\t":
        at += 1  # "the `password` is …"
    return at + (loose and text[at : at + 1] == ","), False


def _followed(
    text: str, lower: str, start: int, end: int, loose: bool, linked: bool, words: list[tuple[int, str]]
) -> tuple[int, int]:
    """Where the value stands that words such as "is", "was changed to", "for the server is" lead to."""
    opened = False
    for number, (at, word) in enumerate(words):
        if word in LINKS and (linked or word != "from"):
            around = lower[max(0, start - 48) : start].rsplit(".", 1)[-1] + lower[end:at]
            linked = word != "to" or any(verb in around for verb in _CHANGING)
            opened = opened or not linked
            continue
        if linked and _may_be_told(word):
            found = _told(text, at, loose, True)
            if found[1]:
                return found
        if (not number and word in OPENERS) or (linked and opened):
            opened, linked = True, False
        elif not opened:
            break
        if word[-1] in ".!?;" or any(part in word for part in _NAME_PARTS):
            break  # what follows another name is looked for there, so that no word is visited by many
        linked = word[-1] == ":"
    return 0, 0


def _may_be_told(word: str) -> bool:
    return not word.isalpha() and word[0] != "-"


def _is_sql(lower: str, start: int, word: str) -> bool:
    """Whether the name stands in a statement or a netrc that gives any word behind it to a user."""
    if word[:1] != "'" and _DIGITS.isdisjoint(word):
        return False
    head = lower[max(0, start - 160) : start]
    return any(word in head for word in _DATABASE)


def _told(text: str, at: int, loose: bool, linked: bool, *, any_word: bool = False) -> tuple[int, int]:
    """Where the value that begins at `at` stands without its quotes, if it looks like a secret."""
    while text[at : at + 1] in ("*", "(", "_") and text[at + 1 : at + 2] not in ("*", ""):
        at += 1
    bold = text.startswith("**", at)
    slashes = 0
    while slashes < 3 and text[at + slashes : at + slashes + 1] == "\\":
        slashes += 1
    mark = text[at + slashes : at + slashes + 1]
    if bold or (mark and mark in _QUOTES):
        begin = at + 2 if bold else at + slashes + 1
        stop = text.find("**" if bold else text[at : at + slashes] + _QUOTES[mark], begin, begin + 160)
        value = text[begin:stop] if stop > 0 else ""
        is_one = value and "\n" not in value and not (bold and (value.isalpha() or not value.isascii()))
        if is_one and _is_quoted_secret(value, loose, linked, any_word):
            return begin, stop
        return _told(text, begin, loose, linked, any_word=any_word) if bold else (0, 0)
    value = text[at : at + 160].split(None, 1)[0] if text[at : at + 160].strip() else ""
    for end in ('"', "<", "`", "\\", "&quot", "&#", "&lt"):
        value = value.partition(end)[0]
    value = value.rstrip(".,;:)*?>")
    if value.endswith("'"):
        value = value.rstrip("'")
    if value and text[at + len(value) : at + len(value) + 1] != "(" and is_bare_secret(value, loose, linked, any_word):
        return at, at + len(value)
    return 0, 0


def _is_quoted_secret(value: str, loose: bool, linked: bool, any_word: bool) -> bool:
    if is_placeholder(value) or value[0] in "/~.{<-$ \t%,)" or "](" in value or not any(map(str.isalnum, value)):
        return False
    digits = not _DIGITS.isdisjoint(value)
    if " " in value:
        return loose and len(value.split()) + digits > (2 if linked or any_word else 3) and not is_prose(value)
    if any_word or is_technical(value):
        return any_word
    if not loose:
        return digits and _is_token(value)
    if digits or not _SIGNS.isdisjoint(value[1:]):
        return len(value) >= 6
    return linked and len(value) >= 6 and value.isalpha() and value.islower()


def is_bare_secret(value: str, loose: bool, linked: bool, any_word: bool) -> bool:
    """Whether a word without quotes looks like a secret.

    Args:
        loose: it is to be a password, of which less is asked than of a token.
        linked: something such as "is" gives it to a name.
        any_word: a statement gives it, where nothing else may stand.
    """
    if len(value) < 5 or is_placeholder(value) or value[0] in "/~.{<-$[(|" or is_technical(value):
        return False
    digits = not _DIGITS.isdisjoint(value)
    cased = value.upper() != value and value.lower() != value
    if not loose:
        return digits and _is_token(value) and (linked or (cased and len(value) >= 16 and value.isalnum()))
    letters = value.upper() != value.lower()
    signs = not _SIGNS.isdisjoint(value[1:-1])
    if any_word:
        return digits and letters
    if not linked:
        return digits and len(value) >= 7 and (cased or signs)
    if digits:
        return letters and (len(value) >= 6 or signs)
    if signs:
        return letters and len(value) >= 8
    parts = value.split("-")
    return len(parts) > 3 and all(len(part) > 2 and part.isalpha() for part in parts) and not is_prose(" ".join(parts))


def _is_token(value: str) -> bool:
    """Whether a value is long enough, with digits enough, for a token, a key or a secret."""
    return len(value) >= 12 and sum(char in _DIGITS for char in value) > 1 and value.upper() != value.lower()


def _value_before(text: str, lower: str, start: int) -> tuple[int, int]:
    """Where the value in `use "…" as the password` stands: quoted, or bare where it has digits and signs."""
    head = lower[max(0, start - 12) : start]
    before = next((before for before in BEFORE if head.endswith(before)), "")
    stop = start - len(before)
    mark = {end: begin for begin, end in _QUOTES.items()}.get(text[stop - 1 : stop], "") if before else ""
    if mark:
        stop -= 1
        at = text.rfind(mark, max(0, stop - 80), stop) + 1
        value = text[at:stop]
        return (
            (at, stop)
            if at and value and "\n" not in value and _is_quoted_secret(value, True, False, False)
            else (0, 0)
        )
    at = max(text.rfind(" ", max(0, stop - 80), stop), text.rfind("\n", max(0, stop - 80), stop)) + 1
    return (at, stop) if before and at and is_bare_secret(text[at:stop], True, False, False) else (0, 0)
