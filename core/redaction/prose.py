"""Finds the secrets in sentences: "the password for staging is …", "I set the pw to …", "the creds are bob:…".

A name of a secret is followed word by word, a dozen words at most, so that the time is linear in the text.
"""

from __future__ import annotations

from core.redaction import ANNOUNCING, may_be_login
from core.redaction.values import (
    DIGITS,
    LOOSE,
    SIGNS,
    Name,
    Span,
    compiled,
    is_described,
    is_made_up,
    is_placeholder,
    label,
)

MAX_REACH = 220  # characters after a name that are read
NOTHING = (0, 0)
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "„": "“", "«": "»"}
_WORDS = {
    # After these the value follows, perhaps after another of them.
    "links": "is was are be being been has had will should to from now still just simply currently again also always"
    " only changed set reset rotated updated switched renamed became becomes reads says called into exactly literally"
    " actually temporarily est é è es ist war lautet lautete wurde auf = : | - -- – — → -> => is: was: be: lautet:"
    " ist: to: generated jetzt nun ahora adesso maintenant c'est c’est soll",
    # These begin a description of the password: "for the webhook on staging", "I got from the portal".
    "openers": "for of on at from in to i we you he she they that which with und für von zum zur der des am im here"
    " below used given shared field there this today yesterday du de do da del vom beim bei para per pour della",
    # "password reset2", "password field1": with a number, these words are names of their own.
    "not values": "field reset manager hash policy prompt form input column entry check step version rule test case"
    " example user password passwd token secret key length min max level type option group page file line row label"
    " hint name value change update login account auth protected encrypted based generator validator strength storage",
}
_SETS = {topic: frozenset(words.split()) for topic, words in _WORDS.items()}
_FOR = "zum|zur|für|fürs|auf|au|aux|à|a|al|alla|para|per|pour|voor|de|del|do|du|des|vom|von|der|dem"
_ARE = "are|is|were|was|ist|sind|lauten|sont|est|son|es|são|sono|zijn"
_RE: dict[str, str] = {
    "login": (
        r"(?:(?:(?:c(?<!\wc)red(?:s|entials)|l(?<!\wl)ogins?|u(?<!\wu)ser(?:name)?[/:]pass(?:word)?|b(?<!\wb)asic auth"
        r"|z(?<!\wz)ugang(?:sdaten)?|b(?<!\wb)enutzer|accès|identifiants|credencia(?:le|i)s|credenziali|acc?eso"
        r"|inloggegevens|toegang|(?:test|demo|admin)[ -]?(?:account|user|konto))"
        rf"(?:[ \t](?:for|to|of|{_FOR}) ?[^\n:>→]{{1,40}}(?::|[=-]?>|→| (?:{_ARE}))|[ \t]*[:=]"
        rf"|[ \t]+(?:{_ARE}|=|-|–|—))"
        r"|l(?<!\wl)og(?:(?:ged|ging)? in (?:with|as)|in with)|s(?<!\ws)ign in (?:with|as)"
        r"|i(?<!\wi)nloggen met|a(?<!\wa)nmelden (?:mit|als)|e(?<!\we)inloggen (?:mit|als)"
        r"|c(?<!\wc)on[eé]cta(?:te|rse) con"
        r"|s(?<![\w.]s)sh (?:in)?to [^\n:]{1,40} (?:with|as))"
        r"(?:[ \t]+(?:here|these|is|are))?[:=]?[ \t]*[\"'`*(]{0,3})"
        r"(?!https?:|\d+\W)[\w.@\\-]{1,64}(?::|[ \t]+(?:[/|:]|with|using|mit|con|avec|und|and)[ \t]+|(/|[, \t]{1,3}))"
        r"[\"'`*(]{0,2}([^\s\\]{3,160})"
    ),
    "user with it": (
        r"(?:u(?<!\wu)(?:ser|sername|sr|id)|l(?<!\wl)ogin|a(?<!\wa)(?:ccount|s))[ :,]+"
        r"(?!(?:can|could|must|should|may|might|will|would|to|does|did|not)\b)[^\s:,]{1,64}"
        r"(?:[,:]?[ \t]+(?:with|and|the|/))*[,:]?[ \t]+(?:pass|pw|passwd|password)[ \t]+(\S{3,160})"
    ),
    "net use": (
        r"net use [^\n]{0,160}?(?<= )(?![/\\*]|[a-z]: )([^\s\"'`]{4,})(?= [^\n]{0,80}/user:)"
        r"|net use [^\n]{0,160}?/user:\S+ ([^\s\"'`/]{4,})|net user [^\s/]+ ([^\s/\"'`*]{4,}) [^\n]{0,80}/"
    ),
    # Who logs in on many machines; the password of another user must have a sign and a digit.
    "user": (
        r"(?:\w*(?:root|admin|user|svc|ops|oracle|postgres|backup|deploy)\w*|sa|ubuntu|debian|centos|vagrant|guest)\Z"
    ),
    "host": r"[\"'{\[]*(?=[\w.-]*[\d.-])[A-Za-z0-9][\w.-]{2,}(?:\]:\d+)?[\"']?:?\Z",
}


def may_be_described(text: str, lower: str, start: int, end: int) -> bool:
    """Cheap pre-check: could a sentence or a field give a value to the name at start..end?"""
    char = text[end : end + 1]
    if not char or char in ".;)]}!?":
        return False
    words = lower[end + 1 : end + 41].split(None, 1) if char == " " else ()
    if not words or not words[0].rstrip(".,;!?").isalpha():
        return True
    if words[0] in _SETS["links"] or words[0] in _SETS["openers"]:
        return True
    return _is_stated(text, lower, start, "password")


def find_in_prose(text: str, lower: str, names: list[Name], *, has_login: bool) -> list[Span]:
    """The (start, end, kind) of each secret in a sentence; `has_login`: the text has words of a login."""
    has = lower.__contains__
    spans = _find_described(text, lower, names) if names else []
    users = ("user", "login", " as ", "usr", "account", "uid")
    if has_login or (any(map(has, (" pass", " pw "))) and any(map(has, users))):
        spans += _find_logins(text, lower)
    return spans


def _find_described(text: str, lower: str, names: list[Name]) -> list[Span]:
    """Each value that a sentence, or SQL, gives to one of the names."""
    spans: list[Span] = []
    done = 0
    for start, end, kind in names:
        if kind not in LOOSE and kind not in ("secret", "token", "api-key", "private-key"):
            continue
        if start < done or text[start] == "-":
            continue
        if text[end + 1 : end + 2] == "-" and text[end + 2 : end + 3] not in "- >":
            continue  # an option
        follows = text[end : end + 1] != "" and text[end] in " \t'’,\"`*)("
        at, stop = _value_after(text, lower, start, end, kind) if follows else NOTHING
        if stop:
            spans.append((at, stop, label(kind)))
            done = stop
    return spans


def _find_logins(text: str, lower: str) -> list[Span]:
    """Each password next to a user's name."""
    spans: list[Span] = []
    pairs = compiled(_RE["user with it"]).finditer(lower) if " pass" in lower or " pw " in lower else ()
    for match in (*compiled(_RE["login"]).finditer(lower), *pairs):
        start, end = match.span(match.lastindex or 0)
        value = text[start:end].strip("\"'`*()").rstrip(".,;")
        vague = match.re.groups > 1 and value.islower() and value.isalnum() and len(value) < 10
        if match.re.groups > 1 and match.group(1):  # nothing but a space between, or a slash as in a path
            is_path = match.group(1) == "/"
            made_up = is_made_up(value) and not value.islower()
            signed = not SIGNS.isdisjoint(value.replace("#", "") if is_path else value)
            vague = "/" in value or not ((made_up or signed) if is_path else (made_up and signed))
        if value and not vague and is_described(value, "password"):
            start = text.index(value, start)
            spans.append((start, start + len(value), "password"))
    for match in compiled(_RE["net use"]).finditer(lower) if "net use" in lower else ():
        start, end = match.span(match.lastindex or 0)
        if not text[start:end].isalpha() and not is_placeholder(text[start:end]):
            spans.append((start, end, "password"))
    return spans


def find_mapped_logins(text: str, fresh: set[str]) -> list[Span]:
    """Each password that follows its user after a host: `db1 root:…`."""
    spans: list[Span] = []
    at = 0
    words = text.split() if any(":" in word and may_be_login(word) for word in fresh) else []
    for number in [place for place, word in enumerate(words) if place and ":" in word and may_be_login(word)]:
        host, login = words[number - 1], words[number]
        user, _, value = login.strip("\"'`,}])").partition(":")
        digits, signs = not DIGITS.isdisjoint(value), not SIGNS.isdisjoint(value)
        user = user.replace("@", "").replace(".", "")
        if len(value) < 6 or not (digits or signs) or not user.isidentifier() or value.upper() == value:
            continue
        is_known = (digits and signs) or compiled(_RE["user"]).match(user.lower())
        if not is_known or not compiled(_RE["host"]).match(host) or not is_described(value, "password"):
            continue
        at = text.find(login, at)
        start = at + login.index(value)
        line = text[max(0, text.rfind("\n", 0, at) + 1, at - 200) : start + len(value) + 8].split("\n", 1)[0]
        if host[-1] == ":" or line.split() == [host, login]:
            spans.append((start, start + len(value), "password"))
    return spans


def _value_after(text: str, lower: str, start: int, end: int, kind: str) -> tuple[int, int]:
    """The value after the name at start..end; NOTHING if there is none."""
    if text[end] == "(":  # SQL: `PASSWORD('…')`
        called = lower[start:end] == "password" and text[end + 1 : end + 2] == "'" and _is_sql(lower, start, "'")
        return _value_at(text, end + 1, kind, sure=True) if called else NOTHING
    if text[end + 1 : end + 2].isdigit() and text[end + 2 : end + 3] == " " and kind in ("password", "secret"):
        return _value_at(text, end + 3, "password")  # the settings of a router say how it is stored: `secret 5 …`
    at, linked = _after_name(text, end, kind)
    rest = lower[at : end + MAX_REACH].split("\n", 1)[0].split("\\n", 1)[0].replace("\t", " ")
    words: list[tuple[int, str]] = []
    for word in rest.split(" ", 12):
        if word:
            words.append((at, word))
        at += len(word) + 1
    # "options to pass to the linker": only these words link the verb "pass" to a value
    if not words or (kind == "pass" and words[0][1] not in ("is", "was", "=", ":", "->", "→", "for")):
        return NOTHING
    at, word = words[0]
    is_verb = word in ("is", "was", "are", "will", "should", "has", "were", "be")
    if len(words) > 1 and is_verb and words[1][1].isalpha() and words[1][1] not in _SETS["links"]:
        return NOTHING  # "password is required"
    if _is_stated(text, lower, start, kind):
        if not any(char in word for char in "\"'`()[]{}<>\\$"):
            return (at, at + len(word)) if len(word) > 3 and not is_placeholder(word) else NOTHING
        return _value_at(text, at, kind, sure=True)
    if kind != "pass" and not linked and _may_be_value(word):
        found = _value_at(text, at, kind, linked=False, sure=kind in LOOSE and _is_sql(lower, start, word))
        if found[1]:
            return found
    found = _linked_value(text, lower, (start, end, kind), words, linked=linked)
    return NOTHING if kind == "pass" and word == "for" and not is_made_up(text[slice(*found)]) else found


def _after_name(text: str, at: int, kind: str) -> tuple[int, bool]:
    """Where the words after a name begin, and whether the first is the value: "password's …", "**password**: …"."""
    if text.startswith(("'s ", "’s "), at):
        return at + 3, True
    aside, closed, _ = text[at + 2 : at + 48].replace(") =", "):").partition("):")
    if text.startswith(" (", at) and closed and "\n" not in aside:
        return at + len(aside) + 4, True  # "password (staging): …"
    if text[at] == "*" and text[at : at + 6].lstrip("*").startswith(":"):
        return text.index(":", at) + 1, True
    if text[at] in "\"'`*)" and text[at + 1 : at + 2] in " ,\t":
        at += 1  # "the `password` is …"
    return at + (kind in LOOSE and text[at : at + 1] == ","), False


def _linked_value(text: str, lower: str, name: Name, words: list[tuple[int, str]], *, linked: bool) -> tuple[int, int]:
    """The value that words such as "is", "was changed to", "for the server is" lead to."""
    start, end, kind = name
    opened = False
    for number, (at, word) in enumerate(words):
        if word in _SETS["links"] and (linked or word != "from"):
            around = lower[max(0, start - 48) : start].rsplit(".", 1)[-1] + lower[end:at]
            verbs = ("chang", "set", "updat", "rotat", "switch", "renam", "geändert", "gesetzt")
            linked = word != "to" or any(verb in around for verb in verbs)
            opened = opened or not linked
            continue
        found = _value_at(text, at, kind) if linked and _may_be_value(word) else NOTHING
        if found[1]:
            return found
        if (word in _SETS["openers"] and (not number or words[number - 1][1] == "generated")) or (linked and opened):
            opened, linked = True, False
        elif not opened and (number or word[-1] != ":" or word[:-1] in _SETS["not values"] or kind not in LOOSE):
            break  # but "password root: …"
        if word[-1] in ".!?;" or (word != "key" and any(part in word for part in ANNOUNCING)):
            break  # the words after another name belong to that name, so that no word is visited by many
        linked = word[-1] == ":"
    return NOTHING


def _is_stated(text: str, lower: str, start: int, kind: str) -> bool:
    """Whether the word after the name is its value: in a netrc, `ENV NAME VALUE`, `set -x NAME VALUE`."""
    if text.endswith(("ENV ", "setenv ", "set -x ", "set -gx ", "set -Ux ", "setx "), max(0, start - 8), start):
        return True
    head = lower[max(0, start - 120) : start]
    above, _, line = head.rpartition("\n")
    before = line.split()
    if before:
        opens = before[0] in ("enable", "neighbor")
    else:
        statement = r"(?:user(?:name)?|login)[ \t]+\S+\s*\Z|line (?:vty|con|aux)\b"
        opens = compiled(statement).match(above.rpartition("\n")[2]) is not None
    if kind in LOOSE and opens and len(before) < 3:  # the settings of a router, or of a mail program
        words = lower[start : start + MAX_REACH].partition("\n")[0].split()
        return len(words) == 2 and words[1].rstrip("0123456789") not in _SETS["not values"]
    return kind in LOOSE and "login " in head and ("machine " in head or "default " in head)


def _is_sql(lower: str, start: int, word: str) -> bool:
    """Whether the name is in a statement, or a netrc, that gives any word after it to a user."""
    if word[:1] != "'" and DIGITS.isdisjoint(word):
        return False
    head = lower[max(0, start - 160) : start]
    statements = "role |user |login |identified|alter |create |machine |connect |set password "
    return any(word in head for word in statements.split("|"))


def _may_be_value(word: str) -> bool:
    return not word.isalpha() and word[0] != "-"


def _value_at(text: str, at: int, kind: str, *, linked: bool = True, sure: bool = False) -> tuple[int, int]:
    """The value at `at` without its quotes, if it looks like a secret (see `is_described`); otherwise NOTHING."""
    at += len(text[at : at + 4]) - len(text[at : at + 4].lstrip("*("))
    slashes = len(text[at : at + 3]) - len(text[at : at + 3].lstrip("\\"))
    mark = text[at + slashes : at + slashes + 1]
    if mark and mark in _QUOTES:
        begin = at + slashes + 1
        stop = text.find(text[at : at + slashes] + _QUOTES[mark], begin, begin + 160)
        value = text[begin:stop] if stop > 0 else ""
        fits = value and "\n" not in value and is_described(value, kind, quoted=True, linked=linked, sure=sure)
        return (begin, stop) if fits else NOTHING
    value = text[at : at + 160].split(None, 1)[0] if text[at : at + 160].strip() else ""
    for end in ('"', "<", "`", "\\", "&quot", "&#", "&lt"):
        value = value.partition(end)[0]
    value = value.rstrip(".,;:)*?>").rstrip("'")
    is_call = text[at + len(value) : at + len(value) + 1] == "("
    if value and not is_call and is_described(value, kind, linked=linked, sure=sure):
        return at, at + len(value)
    return NOTHING
