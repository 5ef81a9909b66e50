"""Finds secrets among the words of a command: `sshpass -p …`, `redis-cli -a …`, `curl -u USER:…`, `mysql -p…`.

A command is looked for by its program, and its words are split where one stands, so that a text without any costs a
search each.
"""

from __future__ import annotations

from core.redaction.names import is_placeholder
from core.redaction.shapes import ATTACHED_P, CURL_USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.redaction.assignments import Span

_REACH = 600
_MOST_WORDS = 40
_AHEAD = frozenset(" \t\n/;|&($`\"'")
_BEHIND = frozenset(" \"'")

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
    "aws": (("put-parameter", "secretsmanager"), ("--value", "--secret-string"), (), ()),
    "gh": (("secret",), ("--body", "-b"), (), ()),
    "smbclient": ((), (), (), ("-U", "--user")),
}  # fmt: skip
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
    done = 0
    for at in _programs(text, _RULES):
        if at >= done:
            words, done = _words(text, at)
            _by_rule(text, words, spans)
    for program, place in (("htpasswd", 3), ("pulumi", 4)):
        done = 0
        for at in _programs(text, (program,)):
            if at >= done:
                words, done = _words(text, at)
                _by_place(text, words, place, spans)
    for option in ("-pass pass:", "-passin pass:", "-passout pass:"):
        at = text.find(option)
        while at >= 0:
            words, at = _words(text, at + len(option), most=1)
            spans += [(start, end, "password") for start, end in words if _is_secret(text[start:end])]
            at = text.find(option, at)
    for pipe in _PIPED:
        if pipe in text:
            spans += _echoed(text, pipe)
    for command, more in _PRINTERS:
        if command in text:
            spans += _printed(text, command, more)
    return spans


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


def _words(text: str, at: int, most: int = _MOST_WORDS) -> tuple[list[tuple[int, int]], int]:
    """Where the words of the command at `at` stand, without quotes, as a shell or a JSON array has them; and its
    end."""
    limit = min(len(text), at + _REACH)
    words: list[tuple[int, int]] = []
    if text[at - 1 : at] in ('"', "'") and at and text.find(text[at - 1], at, at + 24) > 0:
        at -= 1
    while at < limit and len(words) < most:
        char = text[at]
        if char in " \t,":
            at += 1
        elif char == "\\" and text[at + 1 : at + 2] == "\n":
            at += 2
        elif char in "\n;|&)]" or (char == "\\" and text[at + 1 : at + 2] == "n"):
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
    return words, at


def _word_end(text: str, at: int, limit: int) -> int:
    """Where a word ends that does not begin with a quote: `-p'a b'` is one."""
    quoted = ""
    start = at
    while at < limit:
        char = text[at]
        if quoted:
            quoted = "" if char == quoted else quoted
        elif char in "'\"" and at > start and text[at - 1] != "\\":
            quoted = char
        elif char in " \t\n\"';|" or (char == "\\" and text[at + 1 : at + 2] in ("n", '"')):
            break
        at += 1
    return at


def _by_rule(text: str, words: list[tuple[int, int]], spans: list[Span]) -> None:
    """What the options of the programs among the words take; of several programs each has the words behind it."""
    rule: _Rule = ((), (), (), ())
    ready = False
    option = ""
    for start, end in words:
        word = text[start:end]
        given = _RULES.get(word if "/" not in word else word.rpartition("/")[2])
        if option in rule[1] and ready and _is_secret(word):
            spans.append((start, end, "password"))
        elif option in rule[3] and ready:
            name, sign, value = word.partition(":" if ":" in word else "%")
            if sign and _is_secret(value):
                spans.append((start + len(name) + 1, end, "password"))
        elif given is not None:
            rule, ready = given, not given[0]
        elif not ready:
            ready = word in rule[0]
        elif word[:2] in rule[2]:
            value = word[2:].strip("'\"")
            if value[:1] not in ("", "=") and _is_secret(value):
                at = start + 2 + word[2:].index(value)
                spans.append((at, at + len(value), "password"))
        option = word


def _is_secret(value: str) -> bool:
    """Whether a word in the place of a secret is one, and not an option, a variable or what a manual writes there."""
    if len(value) < 3 or value[0] in "-$[" or is_placeholder(value) or value.isdigit() and len(value) < 6:
        return False
    return not (value.isalpha() and value.isupper())


def _by_place(text: str, words: list[tuple[int, int]], place: int, spans: list[Span]) -> None:
    """`htpasswd -b FILE USER …`, `pulumi config set --secret NAME …`."""
    options = [text[start:end] for start, end in words if text[start] == "-"]
    plain = [(start, end) for start, end in words if text[start] != "-"]
    wanted = "--secret" in options if place == 4 else any("b" in option for option in options)
    if wanted and len(plain) > place and _is_secret(text[plain[place][0] : plain[place][1]]):
        spans.append((*plain[place], "password"))


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
        head = text[max(0, line - 400) : line].rsplit("\n", 1)[-1]
        below = text[line + 1 : line + 400].split("\n", 1)[0]
        value = below.strip()
        if line - at < 400 and more in head and len(value) >= 6 and len(value.split()) == 1 and value[0] not in "/.-{[<":
            if not is_placeholder(value) and any(char.isdigit() for char in value) and value.lower() != value.upper():
                start = line + 1 + below.index(value)
                spans.append((start, start + len(value), "secret"))
        at = text.find(command, max(line, at + len(command)))
    return spans


def _has_attached(text: str) -> bool:
    """Whether something follows a ` -p` without a space; `mkdir -p` is what agents run most."""
    return any(part[:1] not in ("", " ", "\n", "\t") for part in text.split(" -p")[1:])


def _by_pattern(text: str) -> list[Span]:
    """`-pVALUE` attached as mysql takes it (unquoted only behind such a command), and `curl -u USER:VALUE`."""
    import re

    spans: list[Span] = []
    if "curl" in text:
        spans += [
            (match.start(1), match.end(1), "password")
            for match in re.finditer(CURL_USER, text)
            if not is_placeholder(match.group(1))
        ]
    if " -p" in text:
        for match in re.finditer(ATTACHED_P, text):
            group = match.lastindex or 1
            before = text[max(0, match.start() - 200) : match.start()].rsplit("\n", 1)[-1]
            known = any(command in before for command in ("mysql", "mariadb", "sshpass"))
            if (group < 3 or known) and not is_placeholder(match.group(group)):
                spans.append((match.start(group), match.end(group), "password"))
    return spans
