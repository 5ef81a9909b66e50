"""Finds the password of somebody who logs in, told with his name: "the creds are bob:…", "user joe pass …". Hot path.

No `re`: behind each word of the table a bounded look.
"""

from __future__ import annotations

from core.redaction.names import is_placeholder
from core.redaction.prose import is_bare_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.redaction.assignments import Span

_REACH = 160
_NOUNS = (
    "creds", "credentials", "login", "logins", "user/pass", "user/password", "username/password", "user:pass",
    "user:password", "log in with", "login with", "sign in as", "sign in with", "log in as", "logged in as",
)  # fmt: skip
_LINKS = frozenset(["are", "is", "were", "was", "=", "-", "–", "—", "here", "these"])
_USERS = frozenset(["user", "username", "login", "usr", "account", "uid", "as"])
_PASSES = (" pass ", " pw ", " passwd ", " password ")
_VERBS = frozenset(["can", "could", "must", "should", "may", "might", "will", "would", "to", "does", "did", "not"])
_MARKS = "\"'`*()"
_USER_CHARS = 64


def find_logins(text: str, lower: str) -> list[Span]:
    """The (start, end, kind) of each password that stands with a user's name; linear in the text."""
    spans: list[Span] = []
    if "cred" in lower or "login" in lower or "user" in lower or "log in " in lower or "sign in " in lower:
        for noun in _NOUNS:
            at = lower.find(noun)
            while at >= 0:
                end = at + len(noun)
                if not lower[at - 1 : at].isalnum() and text[end : end + 1] in (" ", ":", "="):
                    _paired(text, end, spans, noun[-2:] in ("as", "th"))
                at = lower.find(noun, end)
        for word in _PASSES:
            at = lower.find(word)
            while at >= 0:
                _beside(text, lower, at, at + len(word), spans)
                at = lower.find(word, at + len(word) - 1)
    if "net use" in lower or "net user" in lower:
        _on_windows(text, lower, spans)
    return spans


def _paired(text: str, at: int, spans: list[Span], linked: bool) -> None:
    """`USER:…` or `USER / …` behind a noun."""
    line = text[at : at + _REACH].split("\n", 1)[0].split("\\n", 1)[0]
    linked = linked or line[:1] in (":", "=")
    words: list[tuple[int, str]] = []
    place = at
    for part in line.replace(":", " ", 1).split(" ") if line[:1] in (":", "=") else line.split(" "):
        if part and part not in ("=",):
            words.append((place, part))
        place += len(part) + 1
    while words and (words[0][1].rstrip(":").lower() in _LINKS):
        linked = True
        words.pop(0)
    if not words or not linked:
        return
    start, word = words[0]
    lead = len(word) - len(word.lstrip(_MARKS))
    start, word = start + lead, word.strip(_MARKS + ".,;")
    for sign in (":", "/"):
        user, found, value = word.partition(sign)
        if found and user and value and _is_user(user) and _is_told(value):
            spans.append((start + len(user) + 1, start + len(word), "password"))
            return
    if len(words) > 2 and words[1][1] in ("/", "|", ":") and _is_user(word):
        start, value = words[2]
        lead = len(value) - len(value.lstrip(_MARKS))
        value = value.strip(_MARKS).rstrip(".,;")
        if _is_told(value):
            spans.append((start + lead, start + lead + len(value), "password"))


def _is_user(word: str) -> bool:
    plain = word.replace(".", "a").replace("_", "a").replace("-", "a").replace("@", "a")
    return len(word) <= _USER_CHARS and plain.isalnum() and not word.isdigit() and word not in ("http", "https")


def _is_told(value: str) -> bool:
    return is_bare_secret(value, True, True, False)


def _beside(text: str, lower: str, at: int, end: int, spans: list[Span]) -> None:
    """`user NAME pass …`."""
    before = lower[max(0, at - _USER_CHARS) : at].rsplit("\n", 1)[-1].replace(",", " ").replace(":", " ").split()
    while before and before[-1] in ("with", "and", "the", "/"):
        before.pop()
    if len(before) < 2 or before[-2] not in _USERS or before[-1] in _VERBS:
        return
    word = text[end : end + _REACH].split(None, 1)[:1]
    if word and not text[end].isspace():
        value = word[0].strip(_MARKS).rstrip(".,;")
        if value and _is_told(value):
            start = end + word[0].index(value)
            spans.append((start, start + len(value), "password"))


def _on_windows(text: str, lower: str, spans: list[Span]) -> None:
    r"""`net use Z: \\HOST\SHARE … /user:NAME`, the password before or behind it; `net user NAME … /add`."""
    for command in ("net use ", "net user "):
        at = lower.find(command)
        while at >= 0:
            end = at + len(command)
            line = text[end : end + _REACH].split("\n", 1)[0]
            words, place = [], end
            for word in line.split(" "):
                plain = word.rstrip("`'\".,;")
                if plain and plain[0] not in "/\\*" and not (len(plain) == 2 and plain[1] == ":"):
                    words.append((place, plain))
                place += len(word) + 1
            words = words[1:] if command == "net user " else words if "/user:" in line.lower() else []
            # behind the options of the command prose may follow
            if words and "/" in line and len(words[0][1]) > 3 and not is_placeholder(words[0][1]):
                start, value = words[0]
                if any(not char.isalpha() for char in value):
                    spans.append((start, start + len(value), "password"))
            at = lower.find(command, end)
