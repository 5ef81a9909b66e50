"""Finds the secrets in sentences: "the password for staging is …", "I set the pw to …", "the creds are bob:…".

A name of a secret is followed word by word, a dozen words at most, so that the time is linear in the text.
"""

from __future__ import annotations

from core.redaction import ANNOUNCING, compiled, may_be_login, word_sets
from core.redaction.values import (
    DIGITS,
    LOOSE,
    SIGNS,
    Name,
    Span,
    is_described,
    is_made_up,
    is_placeholder,
    label,
)

MAX_REACH = 220  # characters after a name that are read
NOTHING = (0, 0)
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "„": "“", "«": "»"}
_WORDS = word_sets({
    # After these the value follows, perhaps after another of them.
    "links": "is was are be being been has had will should to from now still just simply currently again also always"
    " only changed set reset rotated updated switched renamed became becomes reads says called into exactly literally"
    " actually temporarily imported as est é è es ist war lautet lautete wurde auf = : | - -- – — → -> => is: was: be:"
    " lautet: ist: to: generated jetzt nun ahora adesso maintenant c'est c’est soll",
    # These begin a description of the password: "for the webhook on staging", "I got from the portal".
    "openers": "for of on at from in to i we you he she they that which with und für von zum zur der des am im here"
    " below used given shared field there this today yesterday du de do da del vom beim bei para per pour della",
    # "password reset2", "password field1": with a number, these words are names of their own.
    "not values": "field reset manager hash policy prompt form input column entry check step version rule test case"
    " example user password passwd token secret key length min max level type option group page file line row label"
    " hint name value change update login account auth protected encrypted based generator validator strength storage",
})  # fmt: skip
_BEFORE_NAME = tuple(
    f" {link} {whose}{what}"
    for link in ("as", "is")
    for whose in ("", "the ", "my ", "your ", "its ", "a ")
    for what in ("", "root ", "admin ", "db ", "new ", "login ")
    if whose or (link == "as" and not what)
)
"""Words between a value and the name after it: `use "…" as the password`."""


def may_be_described(text: str, lower: str, start: int, end: int) -> bool:
    """Cheap pre-check: could a sentence or a field give a value to the name at start..end?"""
    char = text[end : end + 1]
    if not char or char in ".;)]}!?":
        return lower.endswith(_BEFORE_NAME, max(0, start - 16), start)
    words = lower[end + 1 : end + 41].split(None, 1) if char == " " else ()
    if not words or not words[0].rstrip(".,;!?").isalpha():
        return True
    if words[0] in _WORDS["links"] or words[0] in _WORDS["openers"]:
        return True
    return _is_stated(text, lower, start, "password") or lower.endswith(_BEFORE_NAME, max(0, start - 16), start)


def find_in_prose(text: str, lower: str, names: list[Name], *, has_login: bool) -> list[Span]:
    """The (start, end, kind) of each secret in a sentence; `has_login`: the text has words of a login."""
    has = lower.__contains__
    spans = _find_described(text, lower, names) if names else []
    topics = ("passw", " pw ", "key", "token", "secret", "credential", "login", "rotated", "swapped")
    if any(map(has, topics)) and any(map(has, (" it to ", "it's ", "it’s ", "one is ", "one was "))):
        spans += _find_said_of_it(text, lower)
    users = ("user", "login", " as ", "usr", "account", "uid")
    if has_login or (any(map(has, (" pass", " pw "))) and any(map(has, users))):
        spans += _find_logins(text, lower)
    return spans


def _find_described(text: str, lower: str, names: list[Name]) -> list[Span]:
    """Each value that a sentence, or SQL, gives to one of the names."""
    spans: list[Span] = []
    done = 0
    replaced = r"[\"'`”’*]{0,3} (?:to|auf|was replaced by|was replaced with|was changed to) "
    has_next_line = ":\n" in text or ")\n" in text or ":**\n" in text
    for start, end, kind in names:
        if kind not in LOOSE and kind not in ("secret", "token", "api-key", "private-key"):
            continue
        if start < done or text[start] == "-":
            continue
        if text[end + 1 : end + 2] == "-" and text[end + 2 : end + 3] not in "- >":
            continue  # an option
        follows = text[end : end + 1] != "" and text[end] in " \t'’,\"`*)("
        at, stop = _value_after(text, lower, start, end, kind) if follows else NOTHING
        if follows and has_next_line and not stop:
            at, stop = _value_on_next_line(text, end, kind)
        if not stop and kind != "pass" and lower.endswith(_BEFORE_NAME, max(0, start - 16), start):
            at, stop = _value_before(text, lower, start, kind)
            if stop:
                spans.append((at, stop, label(kind)))
            continue
        while stop:
            spans.append((at, stop, label(kind)))
            done = stop
            # "changed from … to …"
            link = compiled(replaced).match(text, stop) if " " in text[stop : stop + 4] else None
            at, stop = _value_at(text, link.end(), kind) if link is not None else NOTHING
    return spans


def _find_said_of_it(text: str, lower: str) -> list[Span]:
    """Each password in "I changed it to …", "it's now …", if the sentence is about a secret."""
    statement = r"\b(?:(?:changed?|set|reset|updated?|rotated) it to|one (?:is|was)|it['’]s(?: now)?) "
    topics = r"(passw|\bpw\b)|\b(?:logins?|rotated|swapped)\b|(key|token|secret|credential)"
    spans: list[Span] = []
    for match in compiled(statement).finditer(lower):
        sentence = lower[max(0, match.start() - 160) : match.start()].rpartition("\n")[2]
        topic = compiled(topics).search(sentence)
        kind = "token" if topic and topic[2] else "password"
        at, stop = _value_at(text, match.end(), kind) if topic else NOTHING
        if topic and stop and (topic[1] or is_made_up(text[at:stop])):
            spans.append((at, stop, kind))
    return spans


def _find_logins(text: str, lower: str) -> list[Span]:
    """Each password next to a user's name, and recovery codes."""
    spans = _find_recovery_codes(lower) if "code" in lower else []
    preposition = "zum|zur|für|fürs|auf|au|aux|à|a|al|alla|para|per|pour|voor|de|del|do|du|des|vom|von|der|dem"
    verb = "are|is|were|was|ist|sind|lauten|sont|est|son|es|são|sono|zijn"
    login = (
        r"(?:(?:(?:c(?<!\wc)red(?:s|entials)|l(?<!\wl)ogins?|u(?<!\wu)ser(?:name)?[/:]pass(?:word)?"
        r"|b(?<!\wb)asic auth|z(?<!\wz)ugang(?:sdaten)?|b(?<!\wb)enutzer|accès|identifiants|credencia(?:le|i)s"
        r"|credenziali|acc?eso|inloggegevens|toegang|(?:test|demo|admin)[ -]?(?:account|user|konto))"
        rf"(?:[ \t](?:for|to|of|{preposition}) ?[^\n:>→]{{1,40}}(?::|[=-]?>|→| (?:{verb}))|[ \t]*[:=]"
        rf"|[ \t]+(?:{verb}|=|-|–|—))"
        r"|l(?<!\wl)og(?:(?:ged|ging)? in (?:with|as)|in with)|s(?<!\ws)ign in (?:with|as)"
        r"|i(?<!\wi)nloggen met|a(?<!\wa)nmelden (?:mit|als)|e(?<!\we)inloggen (?:mit|als)"
        r"|c(?<!\wc)on[eé]cta(?:te|rse) con|s(?<![\w.]s)sh (?:in)?to [^\n:]{1,40} (?:with|as))"
        r"(?:[ \t]+(?:here|these|is|are))?[:=]?[ \t]*[\"'`*(]{0,3})"
        r"(?!https?:|\d+\W)[\w.@\\-]{1,64}(?::|[ \t]+(?:[/|:]|with|using|mit|con|avec|und|and)[ \t]+|(/|[, \t]{1,3}))"
        r"[\"'`*(]{0,2}([^\s\\]{3,160})"
    )
    user_with_it = (
        r"(?:u(?<!\wu)(?:ser|sername|sr|id)|l(?<!\wl)ogin|a(?<!\wa)(?:ccount|s))[ :,]+"
        r"(?!(?:can|could|must|should|may|might|will|would|to|does|did|not)\b)[^\s:,]{1,64}"
        r"(?:[,:]?[ \t]+(?:with|and|the|/))*[,:]?[ \t]+(?:pass|pw|passwd|password)[ \t]+(\S{3,160})"
    )
    pairs = compiled(user_with_it).finditer(lower) if " pass" in lower or " pw " in lower else ()
    for match in (*compiled(login).finditer(lower), *pairs):
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
    net_use = (
        r"net use [^\n]{0,160}?(?<= )(?![/\\*]|[a-z]: )([^\s\"'`]{4,})(?= [^\n]{0,80}/user:)"
        r"|net use [^\n]{0,160}?/user:\S+ ([^\s\"'`/]{4,})|net user [^\s/]+ ([^\s/\"'`*]{4,}) [^\n]{0,80}/"
    )
    for match in compiled(net_use).finditer(lower) if "net use" in lower else ():
        start, end = match.span(match.lastindex or 0)
        if not text[start:end].isalpha() and not is_placeholder(text[start:end]):
            spans.append((start, end, "password"))
    return spans


def _find_recovery_codes(lower: str) -> list[Span]:
    """Each list of recovery codes: lines of about the same length below a heading."""
    pattern = (
        r"(?:recovery|backup)[ -]codes?[^\n]{0,80}:[ \t*]*\n\s*(?=[^:]{0,24}?(?:\d[a-z]|\d{4} \d{4}))"
        r"((?:[ \t]*(?:\d{1,2}[.)][ \t]+|[-*•][ \t]+)?(?=[^\n]*\d)[a-z\d]{4,10}(?:[- ]+[a-z\d]{4,10}){0,3}[ \t]*"
        r"(?:\n|\Z)){2,16})"
    )
    spans: list[Span] = []
    for match in compiled(pattern).finditer(lower):
        start, codes = match.start(1), match.group(1).rstrip()
        sizes = [len(line.strip()) for line in codes.split("\n")]
        if max(sizes) <= min(sizes) + 1:
            spans.append((start, start + len(codes), "codes"))
    return spans


def find_mapped_logins(text: str, fresh: set[str]) -> list[Span]:
    """Each password that follows its user after a host: `db1 root:…`."""
    # who logs in on many machines; the password of another user must have a sign and a digit
    known_user = (
        r"(?:\w*(?:root|admin|user|svc|ops|oracle|postgres|backup|deploy)\w*|sa|ubuntu|debian|centos|vagrant|guest)\Z"
    )
    host_name = r"[\"'{\[]*(?=[\w.-]*[\d.-])[A-Za-z0-9][\w.-]{2,}(?:\]:\d+)?[\"']?:?\Z"
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
        is_known = (digits and signs) or compiled(known_user).match(user.lower())
        if not is_known or not compiled(host_name).match(host) or not is_described(value, "password"):
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
    if len(words) > 1 and is_verb and words[1][1].isalpha() and words[1][1] not in _WORDS["links"]:
        return NOTHING  # "password is required"
    if _is_stated(text, lower, start, kind):
        if not any(char in word for char in "\"'`()[]{}<>\\$"):
            return (at, at + len(word)) if len(word) > 3 and not is_placeholder(word) else NOTHING
        return _value_at(text, at, kind, sure=True)
    if kind != "pass" and not linked and _may_be_value(word):
        found = _value_at(text, at, kind, linked=False, sure=kind in LOOSE and _is_sql(lower, start, word))
        if not found[1] and kind in LOOSE:
            found = _unlinked_value(lower, at, word)
        if found[1]:
            return found
    found = _linked_value(text, lower, (start, end, kind), words, linked=linked)
    return NOTHING if kind == "pass" and word == "for" and not is_made_up(text[slice(*found)]) else found


def _value_on_next_line(text: str, at: int, kind: str) -> tuple[int, int]:
    """A single word below a line that ends with a colon or a bracket after the name."""
    stop = text.find("\n", at, at + MAX_REACH)
    if stop < 0 or text[at:stop].rstrip(" \t\r\"'`*")[-1:] not in (":", ")"):
        return NOTHING
    first, *below = [line.strip(" \t\r\"'`*") for line in text[at : at + MAX_REACH].split("\n")[:5]]
    value = next(filter(None, below), "") if first[-1:] == ":" or (first[-1:] == ")" and "" in below[:1]) else ""
    is_password = is_made_up(value) or (kind == "password" and len(value) > 15)
    at = text.index(value, at)
    fits = " " not in value and is_password and is_described(value, kind)
    return (at, at + len(value)) if fits else NOTHING


def _unlinked_value(lower: str, at: int, word: str) -> tuple[int, int]:
    """A plain word with digits after the name of a password, if the sentence ends there or goes on about it."""
    bare = word.strip("*")
    value = bare.rstrip(".,;:!?")
    stem = value.rstrip("0123456789")
    mixed = value.isalnum() and value.isascii() and len(stem) > 2 and not DIGITS.isdisjoint(value)
    if len(value) < 7 or not mixed or not value[0].isalpha() or stem in _WORDS["not values"]:
        return NOTHING
    rest = lower[at + len(word) : at + len(word) + 24].split("\n", 1)[0].strip()
    goes_on = "was is works worked does did has had no for on and or in to expired leaked never still".split()
    ends = word != value or not rest or rest[0] in ".,;:!?)\"'" or rest.split(" ", 1)[0] in goes_on
    at += word.index(value)
    return (at, at + len(value)) if ends and is_described(value, "password", sure=True) else NOTHING


def _after_name(text: str, at: int, kind: str) -> tuple[int, bool]:
    """The start of the words after a name, and whether the first is the value: "password's …", "**password**: …"."""
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
        if word in _WORDS["links"] and (linked or word != "from"):
            around = lower[max(0, start - 48) : start].rsplit(".", 1)[-1] + lower[end:at]
            verbs = ("chang", "set", "updat", "rotat", "switch", "renam", "geändert", "gesetzt")
            linked = word != "to" or any(verb in around for verb in verbs)
            opened = opened or not linked
            continue
        found = _value_at(text, at, kind) if linked and _may_be_value(word) else NOTHING
        if found[1]:
            return found
        if (word in _WORDS["openers"] and (not number or words[number - 1][1] == "generated")) or (linked and opened):
            opened, linked = True, False
        elif not opened and (number or word[-1] != ":" or word[:-1] in _WORDS["not values"] or kind not in LOOSE):
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
        return len(words) == 2 and words[1].rstrip("0123456789") not in _WORDS["not values"]
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


def _value_before(text: str, lower: str, start: int, kind: str) -> tuple[int, int]:
    """The value in `use "…" as the password`: quoted, or bare with digits and signs."""
    head = lower[max(0, start - 16) : start]
    before = next((words for words in _BEFORE_NAME if head.endswith(words)), "")
    stop = start - len(before)
    mark = {end: begin for begin, end in _QUOTES.items()}.get(text[stop - 1 : stop], "")
    if mark:
        stop -= 1
        at = text.rfind(mark, max(0, stop - 80), stop) + 1
    else:
        at = max(text.rfind(" ", max(0, stop - 80), stop), text.rfind("\n", max(0, stop - 80), stop)) + 1
    value = text[at:stop] if at else ""
    fits = value and "\n" not in value and is_described(value, kind, quoted=bool(mark), linked=False)
    return (at, stop) if fits else NOTHING
