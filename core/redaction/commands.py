"""Finds secrets among the words of a command: `sshpass -p …`, `redis-cli -a …`, `curl -u USER:…`, `mysql -p…`.

A command is looked for by its program, and its words are split where one stands, so that a text without any costs a
search each.
"""

from __future__ import annotations

from core.redaction.names import is_placeholder
from core.redaction.programs import ANCHORS, find_in_programs
from core.redaction.published import is_mapped
from core.redaction.shapes import ATTACHED_P, CURL_USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

    from core.redaction.assignments import Span

_REACH = 600
_MOST_WORDS = 40
_LINE = 400
_LONGEST = 4096
_PATH, _NAME = 80, 24
"""Characters before a program and of it."""
_VALUE = 240
_TOKEN_CHARS = 15
_AHEAD = frozenset(" \t\n/;|&($`\"'")
_BEHIND = frozenset(" \"'")
_CLOSING = frozenset(",])}")
_ENDING = frozenset(("", ",", "}", "]", ")", ";", "\n"))
"""What follows a quote that ends a string around the command, and does not begin one in a word."""
_SPECIAL = frozenset("\t,;|&)\"'\\")

# Program: (words one of which must stand in the command, options whose next word is a secret, options with the secret
# attached, options whose next word is USER:SECRET)
_Rule = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
_LOGIN: _Rule = (("login",), ("-p",), (), ())
_LDAP: _Rule = ((), ("-w",), (), ())
_MONGO: _Rule = ((), ("-p",), (), ())
_ATTACHED: _Rule = ((), (), ("-p",), ())
_RULES: dict[str, _Rule] = {
    "sshpass": ((), ("-p",), ("-p",), ()),
    "redis-cli": ((), ("-a", "--pass"), (), ()),
    "docker": _LOGIN, "podman": _LOGIN, "nerdctl": _LOGIN, "helm": _LOGIN, "skopeo": _LOGIN, "buildah": _LOGIN,
    "oc": _LOGIN, "cf": _LOGIN,
    "twine": (("upload",), ("-p",), (), ()),
    "ldapsearch": _LDAP, "ldapmodify": _LDAP, "ldapadd": _LDAP, "ldapdelete": _LDAP, "ldappasswd": _LDAP,
    "ldapwhoami": _LDAP,
    "mongo": _MONGO, "mongosh": _MONGO, "mongodump": _MONGO, "mongorestore": _MONGO, "cqlsh": _MONGO,
    "mysql": _ATTACHED, "mysqldump": _ATTACHED, "mysqladmin": _ATTACHED, "mariadb": _ATTACHED,
    "7z": _ATTACHED, "7za": _ATTACHED, "7zz": _ATTACHED, "unrar": _ATTACHED,
    "sqlcmd": ((), ("-P",), ("-P",), ()), "bcp": ((), ("-P",), ("-P",), ()),
    "zip": ((), ("-P",), (), ()), "unzip": ((), ("-P",), (), ()),
    "http": ((), (), (), ("-a", "--auth")), "https": ((), (), (), ("-a", "--auth")),
    "az": (("keyvault",), ("--value",), (), ()),
    "aws": (("SecureString", "secretsmanager"), ("--value", "--secret-string"), (), ()),
    "rclone": ((), ("pass",), (), ()),
    "gh": (("secret",), ("--body", "-b"), (), ()),
    "smbclient": ((), (), (), ("-U", "--user")),
    "curl": ((), (), (), ("-u", "-U", "--user", "--proxy-user")),
}  # fmt: skip
_ATTACHING = ("mysql", "mariadb", "sshpass")
_SHELL = str.maketrans("|;&", "\n\n\n", "\"'`$()[],\\")
# (program, which of the words that are no options is the secret, an option that it needs)
_PLACES = (("htpasswd", 3, "-b"), ("pulumi", 4, "--secret"), ("ConvertTo-SecureString", 1, "-AsPlainText"))
# What prints the secret alone on the line below; with a second word, where the command holds that too.
_PRINTERS = (
    ("base64 -d", "secret"), ("base64 --decode", "secret"), ("base64 -D", "secret"), ("op read ", ""),
    ("vault kv get -field", ""), ("vault read -field", ""), ("get-secret-value", ""), ("versions access", "secret"),
    ("keyvault secret show", ""), ("find-generic-password", ""), ("pass show ", ""),
)  # fmt: skip
_PIPED = ("--password-stdin", "sudo -S", "--passphrase-fd", "--with-token", "chpasswd")


def find_in_commands(text: str) -> list[Span]:
    """The (start, end, kind) of each secret that a command is given or prints."""
    spans: list[Span] = []
    if "curl" in text or (" -p" in text and _has_attached(text)):
        spans += _by_pattern(text)
    for pipe in _PIPED:
        if pipe in text:
            spans += _echoed(text, pipe)
    for command, more in _PRINTERS:
        if command in text:
            spans += _printed(text, command, more)
    if any(anchor in text for anchor in ANCHORS):
        spans += find_in_programs(text)
    if "-" in text:
        _by_rules(text, spans)
        _by_places(text, spans)
        for option in ("-pass pass:", "-passin pass:", "-passout pass:"):
            if option in text:
                _behind_option(text, option, spans)
    if "vault login " in text:
        _behind_option(text, "vault login ", spans)
    return spans


def _by_rules(text: str, spans: list[Span]) -> None:
    done = 0
    for at in _programs(text, _RULES):
        if at >= done:
            words, done, whole = _words(text, at)
            last = _by_rule(text, words, spans)
            if not whole and last > (at + done) // 2:
                done = last  # the options of the last program may go on behind what was split


def _by_places(text: str, spans: list[Span]) -> None:
    for program, place, option in _PLACES:
        done = 0
        for at in _programs(text, (program,)):
            if at < done:
                continue
            words, done, _ = _words(text, at)
            plain = [(start, end) for start, end in words if text[start] != "-"]
            options = [text[start:end] for start, end in words if text[start] == "-"]
            wanted = option in options or (place == 3 and any("b" in other for other in options))
            if wanted and len(plain) > place and _is_secret(text[plain[place][0] : plain[place][1]]):
                spans.append((*plain[place], "password"))


def _behind_option(text: str, option: str, spans: list[Span]) -> None:
    """What `openssl … -pass pass:…` and `vault login …` are given."""
    at = text.find(option)
    while at >= 0:
        start, end = value_at(text, at + len(option))
        told = option[0] == "-" or (
            end - start > _TOKEN_CHARS and not text[start:end].isalpha() and "=" not in text[start:end]
        )
        if end and told and _is_secret(text[start:end]):
            spans.append((start, end, "password" if option[0] == "-" else "token"))
        at = text.find(option, max(end, at + len(option)))


def _programs(text: str, programs: Iterable[str]) -> list[int]:
    """Where one of the programs stands as a word, in order."""
    found = []
    for program in programs:
        size = len(program)
        at = text.find(program)
        while at >= 0:
            end = at + size
            if text[end : end + 1] in _BEHIND:
                before = text[at - 1 : at]
                if before in _AHEAD or at == 0 or text[at - 2 : at] == "\\n":
                    found.append(at)
            at = text.find(program, end)
    return sorted(found)


def _words(text: str, at: int) -> tuple[list[tuple[int, int]], int, bool]:
    """Where the words of the command at `at` stand, without quotes, as a shell or a JSON array has them; where the last
    of them ends; and whether these are all."""
    limit = min(len(text), at + _REACH)
    words: list[tuple[int, int]] = []
    at = _quoted_at(text, at)
    line = text[at:limit].split("\n", 1)[0]
    if _SPECIAL.isdisjoint(line):
        for word in line.split(" "):
            if word:
                if len(words) == _MOST_WORDS:
                    break
                words.append((at, at + len(word)))
            at += len(word) + 1
        at = words[-1][1] if words else at
    else:
        at = _split(text, at, limit, words)
    cut = at >= limit < len(text)
    if cut and words and words[-1][1] == at:  # it may go on
        more = text[at : at + _LONGEST].split(None, 1)[:1]
        at += len(more[0]) if more and not text[at].isspace() else 0
        words[-1] = (words[-1][0], at)
    return words, at, not cut and len(words) < _MOST_WORDS


def _quoted_at(text: str, at: int) -> int:
    """Where the string begins that a program is by itself, its path included, as in a JSON array; else `at`."""
    begin = at
    while begin and at - begin < _PATH and text[begin - 1] not in " ,\t\n\"'":
        begin -= 1
    mark = text[begin - 1 : begin]
    return begin - 1 if mark in ("'", '"') and mark in text[at : at + _NAME].partition(" ")[0] else at


def _split(text: str, at: int, limit: int, words: list[tuple[int, int]]) -> int:
    """Adds the words of a command with quotes; returns where the last ends."""
    while at < limit and len(words) < _MOST_WORDS:
        char = text[at]
        if char in " \t,":
            at += 1
        elif char == "\\" and text[at + 1 : at + 2] == "\n":
            at += 2
        elif char in "\n;|&)]<" or (char == "\\" and text[at + 1 : at + 2] == "n"):
            break
        else:
            slashes = 0
            while text[at + slashes : at + slashes + 1] == "\\" and slashes < 3:
                slashes += 1
            mark = text[at + slashes : at + slashes + 1]
            if mark in ("'", '"'):
                stop = text.find(text[at : at + slashes] + mark, at + slashes + 1, limit)
                if stop < 0:
                    break
                words.append((at + slashes + 1, stop))
                at = stop + slashes + 1
            else:
                stop = max(_word_end(text, at, limit), at + 1)
                words.append((at, stop))
                at = stop
    return at


def _word_end(text: str, at: int, limit: int) -> int:
    """Where a word ends that does not begin with a quote: `-p'a b'` is one."""
    quoted = ""
    start = at
    while at < limit:
        char = text[at]
        if quoted:
            quoted = "" if char == quoted else quoted
        elif char in "'\"" and at > start and text[at - 1] != "\\" and text[at + 1 : at + 2] not in _ENDING:
            quoted = char
        elif char in " \t\n\"';|" or (char == "\\" and text[at + 1 : at + 2] in ("n", '"')):
            break
        at += 1
    return at


def _by_rule(text: str, words: list[tuple[int, int]], spans: list[Span]) -> int:
    """What the options of the programs among the words take: each has the words behind it; where the last begins."""
    ready = False
    option = ""
    last = -1
    present: set[str] = set()
    spaced: tuple[str, ...] = ()
    attached = paired = spaced
    for start, end in words:
        word = text[start:end]
        if ready and word[:2] in attached:
            value = word[2:].strip("'\"")
            if value[:1] not in ("", "=") and _is_secret(value):
                at = start + 2 + word[2:].index(value)
                spans.append((at, at + len(value), "password"))
        elif ready and option in spaced and _is_secret(word):
            spans.append((start, end, "password"))
        elif ready and "=" in word and word.partition("=")[0] in spaced:
            name, _, value = word.partition("=")
            bare = value.strip("'\"")
            if _is_secret(bare):
                at = start + len(name) + 1 + value.index(bare)
                spans.append((at, at + len(bare), "password"))
        elif ready and option in paired:
            name, sign, value = word.partition(":" if ":" in word else "%")
            if sign and _is_secret(value):
                spans.append((start + len(name) + 1, end, "password"))
        else:
            given = _RULES.get(word if "/" not in word else word.rpartition("/")[2])
            if given is not None:
                needed, spaced, attached, paired = given
                if needed and not present:
                    present = {text[begin:stop] for begin, stop in words}
                ready = not needed or not present.isdisjoint(needed)
                last = start
        option = word
    return last


def value_at(text: str, at: int) -> tuple[int, int]:
    """Where the value that begins at `at` stands, without its quotes; (0, 0) for none."""
    slashes = 0
    while slashes < 3 and text[at + slashes : at + slashes + 1] == "\\":
        slashes += 1
    mark = text[at + slashes : at + slashes + 1]
    if mark in ("'", '"', "`"):
        stop = text.find(text[at : at + slashes] + mark, at + slashes + 1, at + _VALUE)
        return (at + slashes + 1, stop) if stop > 0 and "\n" not in text[at:stop] else (0, 0)
    stop = at
    limit = min(len(text), at + _VALUE)
    while stop < limit and not text[stop].isspace() and text[stop] not in "\"'<>,}\\":
        stop += 1
    return (at, stop) if stop > at and text[stop - 1 : stop] not in "({[" else (0, 0)


def _is_secret(value: str) -> bool:
    """Whether a word in the place of a secret is one, and not an option, a variable or what a manual writes there."""
    if value[-1:] in _CLOSING:
        value = value.rstrip(",])}")
    if len(value) < 3 or value[0] in "-$[" or is_placeholder(value) or (value[0].isdigit() and is_mapped(value)):
        return False
    return not (value.isalpha() and value.isupper())


def _echoed(text: str, pipe: str) -> list[Span]:
    """What `echo` or `printf` hands to a command that reads a password."""
    spans: list[Span] = []
    at = text.find(pipe)
    done = -1
    while at >= 0:
        head = text[max(0, at - 240) : at].rsplit("\n", 1)[-1]
        base = at - len(head)
        found = max(head.rfind("echo "), head.rfind("printf "))
        if found >= 0 and base + found > done and "|" in head[found:]:
            words = [(start, end) for start, end in _words(text, base + found)[0][1:] if text[start] != "-"]
            done = base + found
            if words:
                start, end = words[-1]
                if pipe == "chpasswd" and ":" in text[start:end]:
                    start += text[start:end].index(":") + 1
                if _is_secret(text[start:end]) and "%s" not in text[start:end]:
                    spans.append((start, end, "password"))
        at = text.find(pipe, at + len(pipe))
    return spans


def _printed(text: str, command: str, more: str) -> list[Span]:
    """The line below a command that prints a secret: one word with a digit and a letter."""
    spans: list[Span] = []
    at = text.find(command)
    while at >= 0:
        line = text.find("\n", at)
        if line < 0:
            break
        head = text[max(0, line - _LINE) : line].rsplit("\n", 1)[-1]
        below = text[line + 1 : line + _LINE].split("\n", 1)[0]
        value = below.strip()
        if line - at < _LINE and more in head and _is_printed(value):
            start = line + 1 + below.index(value)
            spans.append((start, start + len(value), "secret"))
        at = text.find(command, max(line, at + len(command)))
    return spans


def _is_printed(value: str) -> bool:
    if len(value) < 6 or len(value.split()) != 1 or value[0] in "/.-{[<" or is_placeholder(value):
        return False
    return any(char.isdigit() for char in value) and value.lower() != value.upper()


def _has_attached(text: str) -> bool:
    """Whether something follows a ` -p` without a space; `mkdir -p` is what agents run most."""
    return any(part[:1] not in ("", " ", "\n", "\t") for part in text.split(" -p")[1:])


def _by_pattern(text: str) -> list[Span]:
    """`-pVALUE` attached as mysql takes it (unquoted only behind such a command), and `curl -u USER:VALUE`."""
    import re

    spans: list[Span] = []
    if "curl" in text:
        pattern = re.compile(CURL_USER)
        for option in ("-u", "-U", "--user", "--proxy-user"):
            for match in _matched(text, option, pattern):
                group = match.lastindex or 1
                if not is_placeholder(match.group(group)):
                    spans.append((match.start(group), match.end(group), "password"))
    pattern = re.compile(ATTACHED_P)
    known = any(command in text for command in _ATTACHING)
    for option in ("-p",) if known else ("-p'", '-p"'):
        for match in _matched(text, option, pattern):
            group = match.lastindex or 1
            program = _attaching(text, match.start()) if known else ""
            value = match.group(group)
            if program != "sshpass" and is_mapped(value):
                continue
            if (group < 3 or program) and value[0] != " " and not is_placeholder(value):
                spans.append((match.start(group), match.end(group), "password"))
    return spans


def _attaching(text: str, at: int) -> str:
    """The program, one of mysql's or sshpass, of the command that has an option at `at`; "" for another."""
    line = text[max(0, at - 200) : at].replace("\\n", "\n").translate(_SHELL).rsplit("\n", 1)[-1]
    before = ""
    for word in line.split():
        program = word.replace("=", "/").rpartition("/")[2]
        if program.startswith(_ATTACHING) and before[:2] != "--" and word[0] != "-" and ":" not in word:
            return program
        before = word
    return ""


def _matched(text: str, option: str, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    """The matches of a pattern where an option begins behind white space."""
    found = []
    at = text.find(option, 1)
    while at >= 0:
        following = at + len(option)
        if text[at - 1].isspace():
            match = pattern.match(text, at)
            if match is not None:
                found.append(match)
                following = match.end()
        at = text.find(option, following)
    return found
