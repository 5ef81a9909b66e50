"""Finds the secrets in sentences: "the password for staging is …", "I set the pw to …", "the creds are bob:…".

A name of a secret is followed word by word, a dozen words at most, so that the time is linear in the text.
"""

from __future__ import annotations

from core import TYPE_CHECKING
from core.redaction import MARK, Span, compiled, places_of
from core.redaction.assignments import LOOSE, Name, each_once, is_described, label, sign_after, value_below
from core.redaction.clues import ANNOUNCING, FOREIGN, LOGINS
from core.redaction.tokens import DIGITS, SIGNS, is_made_up, is_placeholder

if TYPE_CHECKING:
    from core.redaction.clues import Clues

MAX_REACH = 220  # characters after a name that are read
MAX_WHOLE = 20_000  # characters of a text that is searched for logins as a whole once anything announces a login
NEAR = 2_000  # characters from what announces a login, or from a login, in which logins are looked for in a longer text
NOTHING = (0, 0)
_LINKS = frozenset(
    "is was are be being been has had will should to from now still just simply currently again also always only"
    " changed set reset rotated updated switched renamed became becomes reads says called into exactly literally"
    " actually temporarily imported as est es é è je ist jest 是 is lautet jetzt soll = : | - -- – — → -> => is: was:"
    " be: to: generated replaced with by 5 7".split()
)
"""After these the value follows, perhaps after another of them."""
_OPENERS = frozenset(
    "for of on at from in to i we you he she they that which with here below used given shared field there this today"
    " yesterday vom für den der de du del".split()
)
"""These begin a description of the password: "for the webhook on staging", "I got from the portal"."""


def find_in_prose(text: str, lower: str, names: dict[Name, int], clues: Clues) -> list[Span]:
    """The (start, end, kind) of each secret in a sentence."""
    spans = each_once(names, lambda name: _described_value(text, lower, name)) + _find_said_of_it(text, lower)
    announced = places_of(lower, (*clues.signs.intersection(LOGINS), " pass ", " pw ", " password "))
    if clues.logins or (announced and len(text) <= MAX_WHOLE):
        return spans + _find_logins(text, lower, 0, len(text))
    searched = 0
    for at, end in announced:
        last = end  # of what announces a login, or of a login, since another may follow
        while searched < min(last + NEAR, len(text)):
            begin, line_end = max(searched, at - NEAR), text.find("\n", last + NEAR)
            searched = line_end if line_end > 0 else len(text)
            found = _find_logins(text, lower, begin, searched)
            last = found[-1][1] if found else 0
            spans += found
    return spans


def _described_value(text: str, lower: str, name: Name) -> Span | None:
    """The value that a sentence gives to a name; None if there is none."""
    start, end, kind = name
    sign, is_option = sign_after(text, name)
    if is_option or sign in (":", "="):
        return None
    end += text[end : end + 1] in tuple("是为は")  # "is", without spaces
    follows = text[end : end + 1] != "" and (text[end] in " \t'’,\"`*)(" or text[end - 1] in "是为は")
    at, stop = _value_after(text, lower, start, end, kind) if follows else NOTHING
    below = text.find("\n", end, end + MAX_REACH) if follows and not stop else -1
    ends = ":" if kind == "auth" else (":", ")")  # a decorator ends with `)` too
    if below >= 0 and text[end:below].rstrip(" \t\r\"'`*").endswith(ends):
        at, stop = value_below(text, start, below + 1, kind)
    if not stop and kind != "pass":
        at, stop = _value_before(text, start, kind)
    return (at, stop, label(kind)) if stop else None


def _find_said_of_it(text: str, lower: str) -> list[Span]:
    """Each password in "I changed it to …", "it's now …", if the sentence is about a secret."""
    topics = r"(passw|\bpw\b)|\b(?:logins?|rotated|swapped)\b|(key|token|secret|credential)"
    changes = [f"{verb} it to " for verb in "change changed set reset update updated rotated".split()]
    spans: list[Span] = []
    for start, end in places_of(lower, (*changes, "one is ", "one was ", "it's ", "it’s ")):
        sentence = lower[max(0, start - 160) : start].rpartition("\n")[2]
        topic = compiled(topics).search(sentence) if not sentence[-1:].isalpha() else None
        kind = "token" if topic and topic[2] else "password"
        at, stop = _value_at(text, end + 4 * lower.startswith("now ", end), kind) if topic else NOTHING
        if topic and stop and (topic[1] or is_made_up(text[at:stop])):
            spans.append((at, stop, kind))
    return spans


def _find_logins(text: str, lower: str, begin: int, stop: int) -> list[Span]:
    """Each password at begin..stop next to a user's name: `bob:…`, `bob / …`, "as bob with …".

    Without a word that announces a login, in any language, the password must have both cases, a digit and a sign.
    """
    pair = (
        r"(?<![^\s\"'`({=|>*→])([\w.@\\-]{1,64}+)[\"`]?"
        r"(?:(:|[ \t]{1,3}[/|:][ \t]{1,3})"
        r"|([,:]?[ \t]{1,3}(?:and |with |the ){0,3}(?:(?:pass|pw|passwd|password)[ \t]{1,3}|(?<=with )))|[/ ])"
        r"[\"'`*(]{0,2}(?=\S{0,40}[\d!#$%^&*+=@~?])(?=([^\s\\:(<>{/]{5,40})(?:\s|\\|\Z))"
    )
    announcement = (
        r"\b(?:creds|credentials|logins?|log(?:ged|ging)? in|sign in|basic auth|account|user(?:name|id)?|usr|ssh|ftp"
        r"|admin|as)\b[^\n]{0,60}\Z|\w ?:[ \t]*\Z|\d\.\d{1,3}[ \t]+\Z"
    )
    verbs = r"(?:can|could|must|should|may|will|would|to|not)\b"
    known_user = r"(?i).*(?:root|admin|user|svc|ops|oracle|postgres|backup|deploy)"
    spans: list[Span] = []
    for match in compiled(pair).finditer(text, begin, stop):
        user, sign, with_name, value = match.groups()
        value = value.rstrip(".,;}])*\"'`")
        digits, signs = not DIGITS.isdisjoint(value), not SIGNS.isdisjoint(value)
        strong = digits and signs and value.lower() != value != value.upper()
        is_likely = strong or sign == ":" or with_name or (sign and is_made_up(value))
        if not is_likely or not (digits or signs):
            continue
        head = lower[max(0, match.start() - 80) : match.start()].rpartition("\n")[2]
        of_user = sign == ":" and is_made_up(value) and compiled(known_user).match(user)
        fits = compiled(announcement).search(head) or (sign and (strong or of_user))
        if fits and is_described(value, "password") and not compiled(verbs).match(user):
            spans.append((match.start(4), match.start(4) + len(value), "password"))
    return spans


def _value_after(text: str, lower: str, start: int, end: int, kind: str) -> tuple[int, int]:
    """The value after the name at start..end; NOTHING if there is none."""
    linked = text.startswith(("'s ", "’s "), end)  # "the password's …"
    at = end + 3 * linked
    at += not linked and text[at] in "\"'`*)" and text[at + 1 : at + 2] in " ,\t"  # "the `password` is …"
    at += text[at : at + 1] == ","
    rest = lower[at : end + MAX_REACH].split("\n", 1)[0].split("\\n", 1)[0].replace("\t", " ")
    words: list[tuple[int, str]] = []
    for word in rest.split(" ", 12):
        if word:
            words.append((at, word))
        at += len(word) + 1
    if not words:
        return NOTHING
    at, word = words[0]
    if _is_stated(text, lower, start):
        if not any(char in word for char in "\"'`()[]{}<>\\$"):
            return (at, at + len(word)) if len(word) > 3 and not is_placeholder(word) else NOTHING
        return _value_at(text, at, kind, sure=True)
    if kind != "pass" and not linked:
        # a line `requirepass heron7quaymist`, but not `password field2`
        is_line = len(words) == 1 and text[start - 1 : start] in ("", "\n")
        found = _value_at(text, at, kind, linked=is_line and not word.rstrip("0123456789").isalpha())
        if found[1]:
            return found
    found = _linked_value(text, lower, (start, end, kind), words, linked=linked)
    if not found[1] and lower[start:end] in FOREIGN:  # in another language, a made-up word on the same line
        values = (_value_at(text, at, kind) for at, _ in words)
        found = next(((at, stop) for at, stop in values if is_made_up(text[at:stop])), NOTHING)
    return found


def _linked_value(text: str, lower: str, name: Name, words: list[tuple[int, str]], *, linked: bool) -> tuple[int, int]:
    """The value that words such as "is", "was changed to", "for the server is" lead to."""
    start, end, kind = name
    opened = False
    for number, (at, word) in enumerate(words):
        if MARK in word or (word in _LINKS and (linked or word != "from")):
            around = lower[max(0, start - 48) : start].rsplit(".", 1)[-1] + lower[end:at]
            verbs = ("chang", "set", "updat", "rotat", "switch", "renam")
            linked = word != "to" or any(verb in around for verb in verbs)
            opened = opened or not linked
            continue
        found = _value_at(text, at, kind) if linked else NOTHING
        if found[1]:
            return found
        if (word in _OPENERS and (not number or words[number - 1][1] == "generated")) or (linked and opened):
            opened, linked = True, False
        elif not opened and (number or word[-1] != ":" or kind not in LOOSE):
            break  # but "password root: …"
        if word[-1] in ".!?;" or (word != "key" and any(part in word for part in ANNOUNCING)):
            break  # the words after another name belong to that name, so that no word is visited by many
        linked = word[-1] == ":"
    return NOTHING


def _is_stated(text: str, lower: str, start: int) -> bool:
    """Whether the word after the name is its value: in a netrc, `ENV NAME VALUE`, `set -x NAME VALUE`."""
    if text.endswith(("ENV ", "setenv ", "set -x ", "set -gx ", "set -Ux ", "setx "), max(0, start - 8), start):
        return True
    head = lower[max(0, start - 120) : start]
    if "login " in head and ("machine " in head or "default " in head):
        return True
    statement = r"(?:(?:user(?:name)?|login)[ \t]+\S+\s*\n[ \t]*|(?:\A|\n)[ \t]*(?:enable|neighbor \S+) )\Z"
    words = lower[start : start + MAX_REACH].partition("\n")[0].split()  # of the settings of a router, or of mail
    return len(words) == 2 and compiled(statement).search(head) is not None


def _value_at(text: str, at: int, kind: str, *, linked: bool = True, sure: bool = False) -> tuple[int, int]:
    """The value at `at` without its quotes, if it looks like a secret (see `is_described`); otherwise NOTHING."""
    word = text[at : at + 170].lstrip().partition(" ")[0].rstrip(".,;:")
    if word.isalpha() and word.islower():  # an ordinary word is no value: for most sentences, a hook loads no `re`
        return NOTHING
    given = (
        r"[*(]{0,4}(?:(\\{0,3}[\"'`])([^\n]{1,160}?)\1|[“‘„«]([^\n]{1,160}?)[”’“»]"
        r"|\s*([^\s\"'`“‘„«<\\][^\s\"<`\\]*?)(?='*[.,;:)*?>]*(?:[\s\"<`\\]|&(?:quot|lt|#)|\Z)))"
    )
    match = compiled(given).match(text, at, at + 170)
    group = match.lastindex or 0 if match else 0
    fits = match and is_described(match[group], kind, quoted=group < 4, linked=linked, sure=sure)
    return match.span(group) if match and fits else NOTHING


def _value_before(text: str, start: int, kind: str) -> tuple[int, int]:
    """The value in `use "…" as the password`: quoted, or bare with digits and signs."""
    before = (
        r"(?:[\"'`“‘„«]([^\n\"'`“”‘’„«»]{1,80})[\"'`“”’»]|(?<!\S)([^\s\"'`“”’»]{5,80}))"
        r" (?:as|(?:as|is) (?:the|my|your|its|our|a)(?: [\w-]+)?) \Z"
    )
    is_given = not {"as", "is"}.isdisjoint(text[max(0, start - 48) : start].split()[-3:])
    match = compiled(before).search(text, max(0, start - 120), start) if is_given else None
    if match is None or not is_described(match[match.lastindex or 0], kind, quoted=bool(match[1]), linked=False):
        return NOTHING
    return match.span(match.lastindex or 0)
