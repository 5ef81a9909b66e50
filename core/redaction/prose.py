"""Finds the secret that somebody tells in a sentence: "the password for staging is …", "I set the pw to …".

A name of a secret is followed word by word, a dozen words at most, so that the time is linear in the text; and the
password of somebody who logs in, told with his name: "the creds are bob:…", "user joe pass …".
"""

from __future__ import annotations

from core.redaction import ANNOUNCING, may_be_login
from core.redaction.values import LOOSE, SIGNS, Name, Span, compiled, is_made, is_placeholder, is_told, label

_REACH = 220
_MOST_WORDS = 12
_DIGITS = frozenset("0123456789")
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "„": "“", "«": "»"}
_BEHIND = frozenset(" \t'’,\"`*)(")
_ENDS = frozenset(["", *".;)]}!?"])
_MARKS = frozenset("\"'`()[]{}<>\\$")
_FAMILIES = LOOSE | frozenset(["secret", "token", "api-key", "private-key"])
# Behind these the value follows, perhaps after another of them.
_LINKS = frozenset(
    "is was are be being been has had will should to from now still just simply currently again also always only"
    " changed set reset rotated updated switched renamed became becomes reads says called into exactly literally"
    " actually temporarily est é è es ist war lautet lautete wurde auf = : | - -- – — → -> => is: was: be: lautet:"
    " ist: to: generated jetzt nun ahora adesso maintenant c'est c’est soll".split()
)
_SURE = frozenset("is was are will should has were be".split())
_PASS_LINKS = frozenset(["is", "was", "=", ":", "->", "→", "for"])
"""Behind the verb "pass" others of them stand: "options to pass to the linker"."""
# With these begins what says which password it is: "for the webhook on staging", "I got from the portal".
_OPENERS = frozenset(
    "for of on at from in to i we you he she they that which with und für von zum zur der des am im here below used"
    " given shared field there this today yesterday du de do da del vom beim bei para per pour della".split()
)
_STATING = r"(?:user(?:name)?|login)[ \t]+\S+\s*\Z|line (?:vty|con|aux)\b"
"""Begin a line below which `password …` stands."""
_LEADING = _LINKS | _OPENERS
_BEFORE = tuple(
    f" {link} {whose}{what}"
    for link in ("as", "is")
    for whose in ("", "the ", "my ", "your ", "its ", "a ")
    for what in ("", "root ", "admin ", "db ", "new ", "login ")
    if whose or (link == "as" and not what)
)
"""What stands between a value and a name behind it."""
_DATABASE = ("role ", "user ", "login ", "identified", "alter ", "create ", "machine ", "connect ", "set password ")
_CHANGING = ("chang", "set", "updat", "rotat", "switch", "renam", "geändert", "gesetzt")
# "password reset2", "password field1": these words with a number are names of their own.
_NOT_TOLD = frozenset(
    "field reset manager hash policy prompt form input column entry check step version rule test case example user"
    " password passwd token secret key length min max level type option group page file line row label hint name value"
    " change update login account auth protected encrypted based generator validator strength storage".split()
)
_TOLD_OF = frozenset("was is works worked does did has had no for on and or in to expired leaked never still".split())
_SAID_IT = r"\b(?:(?:changed?|set|reset|updated?|rotated) it to|one (?:is|was)|it['’]s(?: now)?) "
_SPOKEN_OF = r"(passw|\bpw\b)|\b(?:logins?|rotated|swapped)\b|(key|token|secret|credential)"
_LISTED = r"passwords[ *\"']{0,4}(?::|=|are |were )"
_REPLACED = r"[\"'`”’*]{0,3} (?:to|auf|was replaced by|was replaced with|was changed to) "
_ACCESS = (
    r"b(?<!\wb)asic auth|z(?<!\wz)ugang(?:sdaten)?|b(?<!\wb)enutzer|accès|identifiants|credencia(?:le|i)s|credenziali"
    r"|acc?eso|inloggegevens|toegang|dane logowania|(?:test|demo|admin)[ -]?(?:account|user|konto)"
)
_FOR = "zum|zur|für|fürs|auf|au|aux|à|a|al|alla|para|per|pour|voor|de|del|do|du|des|vom|von|der|dem"
_ARE = "are|is|were|was|ist|sind|lauten|sont|est|son|es|são|sono|zijn"
_CREDENTIALS = (
    rf"(?:(?:(?:c(?<!\wc)red(?:s|entials)|l(?<!\wl)ogins?|u(?<!\wu)ser(?:name)?[/:]pass(?:word)?|{_ACCESS})"
    rf"(?:[ \t](?:for|to|of|{_FOR}) ?[^\n:>→]{{1,40}}(?::|[=-]?>|→| (?:{_ARE}))|[ \t]*[:=]|[ \t]+(?:{_ARE}|=|-|–|—))"
    r"|l(?<!\wl)og(?:(?:ged|ging)? in (?:with|as)|in with)|s(?<!\ws)ign in (?:with|as)"
    r"|i(?<!\wi)nloggen met|a(?<!\wa)nmelden (?:mit|als)|e(?<!\we)inloggen (?:mit|als)|c(?<!\wc)on[eé]cta(?:te|rse) con"
    r"|s(?<![\w.]s)sh (?:in)?to [^\n:]{1,40} (?:with|as))"
    r"(?:[ \t]+(?:here|these|is|are))?[:=]?[ \t]*[\"'`*(]{0,3})"
    r"(?!https?:|\d+\W)[\w.@\\-]{1,64}(?::|[ \t]+(?:[/|:]|with|using|mit|con|avec|und|and)[ \t]+|(/|[, \t]{1,3}))"
    r"[\"'`*(]{0,2}([^\s\\]{3,160})"
)
# The words of a wallet, and the codes that stand in for a second factor.
_STOPS = "the|and|with|from|for|are|was|were|has|had|not|but|your|been|which|each|line|here|should|der|die|das|und|mit"
_SAID = frozenset("must then make run this that stay when test now open have into more there can".split())
"""A wallet may have one of them, a sentence has more."""
_WALLET = rf"(?:\d{{1,2}}[.):]?[ \t]*)?(?!(?:{_STOPS})\b)[a-z]{{3,8}}(?![\w-])"
_PHRASE = (
    r"(?:mnemonic|(?:seed|recovery|backup|secret)[ _-]?(?:phrase|words?)|(?:wallet|ledger) seed)(?![^\n]{0,60}\(\))"
    rf"[^\n.!?]{{0,60}}?[\s\"'`:=(\[]{{1,6}}({_WALLET}(?:[\s,\"']{{1,6}}{_WALLET}){{10,23}})"
)
_CODES = (
    r"(?:recovery|backup)[ -]codes?[^\n]{0,80}:[ \t*]*\n\s*(?=[^:]{0,24}?(?:\d[a-z]|\d{4} \d{4}))"
    r"((?:[ \t]*(?:\d{1,2}[.)][ \t]+|[-*•][ \t]+)?(?=[^\n]*\d)[a-z\d]{4,10}(?:[- ]+[a-z\d]{4,10}){0,3}[ \t]*"
    r"(?:\n|\Z)){2,16})"
)
_HOST = r"[\"'{\[]*(?=[\w.-]*[\d.-])[A-Za-z0-9][\w.-]{2,}(?:\]:\d+)?[\"']?:?\Z"
_USER = r"(?:\w*(?:root|admin|user|svc|ops|oracle|postgres|backup|deploy)\w*|sa|ubuntu|debian|centos|vagrant|guest)\Z"
"""Who logs in on many machines: of others a password has a sign and a digit."""
_BESIDE_USER = (
    r"(?:u(?<!\wu)(?:ser|sername|sr|id)|l(?<!\wl)ogin|a(?<!\wa)(?:ccount|s))[ :,]+"
    r"(?!(?:can|could|must|should|may|might|will|would|to|does|did|not)\b)[^\s:,]{1,64}"
    r"(?:[,:]?[ \t]+(?:with|and|the|/))*[,:]?[ \t]+(?:pass|pw|passwd|password)[ \t]+(\S{3,160})"
)
_NET_USE = (
    r"net use [^\n]{0,160}?(?<= )(?![/\\*]|[a-z]: )([^\s\"'`]{4,})(?= [^\n]{0,80}/user:)"
    r"|net use [^\n]{0,160}?/user:\S+ ([^\s\"'`/]{4,})|net user [^\s/]+ ([^\s/\"'`*]{4,}) [^\n]{0,80}/"
)
_NOT_FOUND = (0, 0)


def may_be_told(text: str, lower: str, start: int, end: int) -> bool:
    """Whether a sentence or a field could give a value to the name at start..end: hardly any does."""
    char = text[end : end + 1]
    if char in _ENDS:
        return lower.endswith(_BEFORE, max(0, start - 16), start)
    words = lower[end + 1 : end + 41].split(None, 1) if char == " " else ()
    if not words or not words[0].rstrip(".,;!?").isalpha() or words[0] in _LEADING:
        return True
    return _is_stated(text, lower, start, "password") or lower.endswith(_BEFORE, max(0, start - 16), start)


def find_told(text: str, lower: str, names: list[Name]) -> list[Span]:
    """The (start, end, kind) of each value that a sentence, or SQL, gives to one of the names."""
    spans: list[Span] = []
    done = 0
    has_below = ":\n" in text or ")\n" in text or ":**\n" in text
    for start, end, kind in names:
        if kind not in _FAMILIES or start < done or text[start] == "-":
            continue
        if text[end + 1 : end + 2] == "-" and text[end + 2 : end + 3] not in "- >":
            continue  # an option
        follows = text[end : end + 1] in _BEHIND and end < len(text)
        at, stop = _value_behind(text, lower, start, end, kind) if follows else _NOT_FOUND
        if follows and has_below and not stop:
            at, stop = _value_below(text, end, kind)
        if not stop and kind != "pass" and lower.endswith(_BEFORE, max(0, start - 16), start):
            at, stop = _value_before(text, lower, start, kind)
            if stop:
                spans.append((at, stop, label(kind)))
            continue
        while stop:
            spans.append((at, stop, label(kind)))
            done = stop
            # "changed from … to …"
            link = compiled(_REPLACED).match(text, stop) if " " in text[stop : stop + 4] else None
            at, stop = _told(text, link.end(), kind) if link is not None else _NOT_FOUND
    return spans


def find_apart(text: str, lower: str) -> list[Span]:
    """The (start, end, kind) of each password that "it" was changed to, and of those behind "passwords are"."""
    found: list[Span] = []
    for match in compiled(_SAID_IT).finditer(lower):
        spoken = compiled(_SPOKEN_OF).search(lower[max(0, match.start() - 160) : match.start()].rpartition("\n")[2])
        kind = "token" if spoken and spoken[2] else "password"
        at, stop = _told(text, match.end(), kind) if spoken else _NOT_FOUND
        found += [(at, stop, kind)] if spoken and (spoken[1] or is_made(text[at:stop])) else []
    for match in compiled(_LISTED).finditer(lower):
        at = match.end()
        line = text[at : at + _REACH].split("\n", 1)[0]
        for number, word in enumerate(line.split(" ", _MOST_WORDS)[:_MOST_WORDS]):
            if word and word not in ("and", "or", "und", "&", "-"):
                told = _told(text, at, "password") if _may_be_value(word) else _NOT_FOUND
                if not told[1] and number > 1:
                    break
                found.append((*told, "password"))
            at += len(word) + 1
    return [one for one in found if one[1]]


def find_logins(text: str, lower: str) -> list[Span]:
    """The (start, end, kind) of each password that stands with a user's name, of wallets' words and spare codes."""
    spans: list[Span] = []
    for kind, pattern, sign in (("seed-phrase", _PHRASE, "phrase mnemonic seed"), ("codes", _CODES, "code")):
        for match in compiled(pattern).finditer(lower) if any(map(lower.__contains__, sign.split())) else ():
            start, listed = match.start(1), match.group(1).rstrip()
            sizes = [len(line.strip()) for line in listed.split("\n")]
            if (kind != "codes" or max(sizes) <= min(sizes) + 1) and len(_SAID.intersection(listed.split()[:12])) < 2:
                spans.append((start, start + (sizes[0] if len(listed[: sizes[0]].split()) > 10 else len(listed)), kind))
    beside = compiled(_BESIDE_USER).finditer(lower) if " pass" in lower or " pw " in lower else ()
    for match in (*compiled(_CREDENTIALS).finditer(lower), *beside):
        start, end = match.span(match.lastindex or 0)
        value = text[start:end].strip("\"'`*()").rstrip(".,;")
        loose = match.re.groups > 1 and value.islower() and value.isalnum() and len(value) < 10
        if match.re.groups > 1 and match.group(1):  # nothing but a blank between, or a slash as in a path
            made, is_path = is_made(value) and not value.islower(), match.group(1) == "/"
            signed = not SIGNS.isdisjoint(value.replace("#", "") if is_path else value)
            loose = "/" in value or not ((made or signed) if is_path else (made and signed))
        if value and not loose and is_told(value, "password"):
            start = text.index(value, start)
            spans.append((start, start + len(value), "password"))
    for match in compiled(_NET_USE).finditer(lower) if "net use" in lower else ():
        start, end = match.span(match.lastindex or 0)
        if not text[start:end].isalpha() and not is_placeholder(text[start:end]):
            spans.append((start, end, "password"))
    return spans


def find_mapped(text: str, fresh: set[str]) -> list[Span]:
    """The (start, end, kind) of each password that stands with its user behind a host: `db1 root:…`."""
    spans: list[Span] = []
    at = 0
    words = text.split() if any(":" in word and may_be_login(word) for word in fresh) else []
    for number in [place for place, word in enumerate(words) if place and ":" in word and may_be_login(word)]:
        host, login = words[number - 1], words[number]
        user, _, value = login.strip("\"'`,}])").partition(":")
        digits, signs = not _DIGITS.isdisjoint(value), not SIGNS.isdisjoint(value)
        user = user.replace("@", "").replace(".", "")
        if len(value) < 6 or not (digits or signs) or not user.isidentifier() or value.upper() == value:
            continue
        named = (digits and signs) or compiled(_USER).match(user.lower())
        if not named or not compiled(_HOST).match(host) or not is_told(value, "password"):
            continue
        at = text.find(login, at)
        start = at + login.index(value)
        line = text[max(0, text.rfind("\n", 0, at) + 1, at - 200) : start + len(value) + 8].split("\n", 1)[0]
        if host[-1] == ":" or line.split() == [host, login]:
            spans.append((start, start + len(value), "password"))
    return spans


def _value_behind(text: str, lower: str, start: int, end: int, kind: str) -> tuple[int, int]:
    """Where the value behind a name stands, (0, 0) for none."""
    if text[end] == "(":  # SQL: `PASSWORD('…')`
        called = lower[start:end] == "password" and text[end + 1 : end + 2] == "'" and _is_sql(lower, start, "'")
        return _told(text, end + 1, kind, sure=True) if called else _NOT_FOUND
    if text[end + 1 : end + 2].isdigit() and text[end + 2 : end + 3] == " " and kind in ("password", "secret"):
        return _told(text, end + 3, "password")  # how it is stored, in the settings of a router: `secret 5 …`
    at, linked = _behind_name(text, end, kind)
    rest = lower[at : end + _REACH].split("\n", 1)[0].split("\\n", 1)[0].replace("\t", " ")
    words: list[tuple[int, str]] = []
    for word in rest.split(" ", _MOST_WORDS):
        if word:
            words.append((at, word))
        at += len(word) + 1
    if not words or (kind == "pass" and words[0][1] not in _PASS_LINKS):
        return _NOT_FOUND
    at, word = words[0]
    if len(words) > 1 and word in _SURE and words[1][1].isalpha() and words[1][1] not in _LINKS:
        return _NOT_FOUND  # "password is required", as most are
    if _is_stated(text, lower, start, kind):
        if _MARKS.isdisjoint(word):
            return (at, at + len(word)) if len(word) > 3 and not is_placeholder(word) else _NOT_FOUND
        return _told(text, at, kind, sure=True)
    if kind != "pass" and not linked and _may_be_value(word):
        found = _told(text, at, kind, linked=False, sure=kind in LOOSE and _is_sql(lower, start, word))
        if not found[1] and kind in LOOSE:
            found = _alone(lower, at, word)
        if found[1]:
            return found
    found = _followed(text, lower, start, end, kind, linked, words)
    return _NOT_FOUND if kind == "pass" and word == "for" and not is_made(text[slice(*found)]) else found


def _value_below(text: str, at: int, kind: str) -> tuple[int, int]:
    """Where the one word stands that is below a line which ends behind the name with a colon or a bracket."""
    stop = text.find("\n", at, at + _REACH)
    if stop < 0 or text[at:stop].rstrip(" \t\r\"'`*")[-1:] not in (":", ")"):
        return _NOT_FOUND
    first, *shown = [line.strip(" \t\r\"'`*") for line in text[at : at + _REACH].split("\n")[:5]]
    value = next(filter(None, shown), "") if first[-1:] == ":" or (first[-1:] == ")" and "" in shown[:1]) else ""
    made = " " not in value and (is_made(value) or (kind == "password" and len(value) > 15)) and is_told(value, kind)
    at = text.index(value, at)
    return (at, at + len(value)) if made else _NOT_FOUND


def _alone(lower: str, at: int, word: str) -> tuple[int, int]:
    """A plain word with digits behind the name of a password, where nothing else stands there or says what it did."""
    bare = word.strip("*")
    value = bare.rstrip(".,;:!?")
    stem = value.rstrip("0123456789")
    mixed = value.isalnum() and value.isascii() and len(stem) > 2 and not _DIGITS.isdisjoint(value)
    if len(value) < 7 or not mixed or not value[0].isalpha() or stem in _NOT_TOLD:
        return _NOT_FOUND
    rest = lower[at + len(word) : at + len(word) + 24].split("\n", 1)[0].strip()
    alone = word != value or not rest or rest[0] in ".,;:!?)\"'" or rest.split(" ", 1)[0] in _TOLD_OF
    at += word.index(value)
    is_one = alone and is_told(value, "password", sure=True)
    return (at, at + len(value)) if is_one else _NOT_FOUND


def _behind_name(text: str, at: int, kind: str) -> tuple[int, bool]:
    """Where the words behind a name begin, and whether the first is the value: behind "password's", "**password**:"."""
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


def _followed(
    text: str, lower: str, start: int, end: int, kind: str, linked: bool, words: list[tuple[int, str]]
) -> tuple[int, int]:
    """Where the value stands that words such as "is", "was changed to", "for the server is" lead to."""
    opened = False
    for number, (at, word) in enumerate(words):
        if word in _LINKS and (linked or word != "from"):
            around = lower[max(0, start - 48) : start].rsplit(".", 1)[-1] + lower[end:at]
            linked = word != "to" or any(verb in around for verb in _CHANGING)
            opened = opened or not linked
            continue
        found = _told(text, at, kind) if linked and _may_be_value(word) else _NOT_FOUND
        if found[1]:
            return found
        if (word in _OPENERS and (not number or words[number - 1][1] == "generated")) or (linked and opened):
            opened, linked = True, False
        elif not opened and (number or word[-1] != ":" or word[:-1] in _NOT_TOLD or kind not in LOOSE):
            break  # but "password root: …"
        if word[-1] in ".!?;" or (word != "key" and any(part in word for part in ANNOUNCING)):
            break  # what follows another name is looked for there, so that no word is visited by many
        linked = word[-1] == ":"
    return _NOT_FOUND


def _is_stated(text: str, lower: str, start: int, kind: str) -> bool:
    """Whether the word behind the name is its value: in a netrc, `ENV NAME VALUE`, `set -x NAME VALUE`."""
    if text.endswith(("ENV ", "setenv ", "set -x ", "set -gx ", "set -Ux ", "setx "), max(0, start - 8), start):
        return True
    head = lower[max(0, start - 120) : start]
    above, _, line = head.rpartition("\n")
    before = line.split()
    opens = before[:1] in (["enable"], ["neighbor"]) if before else compiled(_STATING).match(above.rpartition("\n")[2])
    if kind in LOOSE and opens and len(before) < 3:  # in the settings of a router, of a mail program
        words = lower[start : start + _REACH].partition("\n")[0].split()
        return len(words) == 2 and words[1].rstrip("0123456789") not in _NOT_TOLD
    return kind in LOOSE and "login " in head and ("machine " in head or "default " in head)


def _is_sql(lower: str, start: int, word: str) -> bool:
    """Whether the name stands in a statement or a netrc that gives any word behind it to a user."""
    if word[:1] != "'" and _DIGITS.isdisjoint(word):
        return False
    head = lower[max(0, start - 160) : start]
    return any(word in head for word in _DATABASE)


def _may_be_value(word: str) -> bool:
    return not word.isalpha() and word[0] != "-"


def _told(text: str, at: int, kind: str, *, linked: bool = True, sure: bool = False) -> tuple[int, int]:
    """Where the value that begins at `at` stands without its quotes, if it looks like a secret."""
    at += len(text[at : at + 4]) - len(text[at : at + 4].lstrip("*("))
    slashes = len(text[at : at + 3]) - len(text[at : at + 3].lstrip("\\"))
    mark = text[at + slashes : at + slashes + 1]
    if mark and mark in _QUOTES:
        begin = at + slashes + 1
        stop = text.find(text[at : at + slashes] + _QUOTES[mark], begin, begin + 160)
        value = text[begin:stop] if stop > 0 else ""
        is_one = value and "\n" not in value and is_told(value, kind, quoted=True, linked=linked, sure=sure)
        return (begin, stop) if is_one else _NOT_FOUND
    value = text[at : at + 160].split(None, 1)[0] if text[at : at + 160].strip() else ""
    for end in ('"', "<", "`", "\\", "&quot", "&#", "&lt"):
        value = value.partition(end)[0]
    value = value.rstrip(".,;:)*?>").rstrip("'")
    if value and text[at + len(value) : at + len(value) + 1] != "(" and is_told(value, kind, linked=linked, sure=sure):
        return at, at + len(value)
    return _NOT_FOUND


def _value_before(text: str, lower: str, start: int, kind: str) -> tuple[int, int]:
    """Where the value in `use "…" as the password` stands: quoted, or bare where it has digits and signs."""
    head = lower[max(0, start - 16) : start]
    before = next((before for before in _BEFORE if head.endswith(before)), "")
    if not before:
        return _NOT_FOUND
    stop = start - len(before)
    mark = {end: begin for begin, end in _QUOTES.items()}.get(text[stop - 1 : stop], "")
    if mark:
        stop -= 1
        at = text.rfind(mark, max(0, stop - 80), stop) + 1
    else:
        at = max(text.rfind(" ", max(0, stop - 80), stop), text.rfind("\n", max(0, stop - 80), stop)) + 1
    value = text[at:stop] if at else ""
    is_one = value and "\n" not in value and is_told(value, kind, quoted=bool(mark), linked=False)
    return (at, stop) if is_one else _NOT_FOUND
