"""What a call returned that is a secret by what was called: `op read …`, `kubectl get secret …`, `cat /run/secrets/db`.

Loaded only where the command or the path may be such a one.
"""

from __future__ import annotations

import re

from core import TYPE_CHECKING, shell_command
from core.names import is_file
from core.redaction import ANNOUNCING
from core.redaction.values import Span, family, is_made, is_placeholder, is_told

if TYPE_CHECKING:
    from core.shell_command import Step

# Of a program, or any, the words that must all be there for it to print a secret.
_PRINTS = tuple(
    (words.split()[0], words.split()[1:])
    for words in (
        "op read|op item get|op env|bw get password|bw get item|lpass show|pass show|gopass show|vault kv get"
        "|vault read|keyring get|ansible-vault view|aws-vault env|chamber env|doppler env|aws SecretString"
        "|aws get-secret-value|aws --with-decryption|aws get-login-password|aws get-session-token|aws configure get"
        "|* secrets access|* secret access|* secrets view|* secrets get|* secret get|* secret show|age -d|sops -d"
        "|gcloud auth print-access-token|gcloud auth print-identity-token|az account get-access-token|az keys list"
        "|security find-generic-password|security find-internet-password|kubectl get secret|kubectl get secrets"
        "|oc get secret|oc whoami -t|doppler secrets|infisical secrets|chamber read|chamber export|sops --decrypt"
        "|terraform output -raw|tofu output -raw|pulumi config get|heroku config|gh auth token"
        "|gpg -d|gpg --decrypt|git credential fill|openssl rand|berglas access|credstash get|kwallet-query -r"
        "|secret-tool lookup|op inject|teller env|ansible-vault decrypt|vault -field|* reveal|* credentials:show"
        "|* config:get|* functions:config:get|pwgen|apg|wg genkey|nmcli -s -g"
        "|* acl bootstrap|* acl token create|* acl token read|* acl token update|* acl token clone|* acl token info"
    ).split("|")
)
_SILENT = re.compile(r"(?:cd|export|set|source)\b|echo\Z")
_FILES = re.compile(
    r"(?:^|/)(?:(?:var/)?run/secrets/.|\.(?:netrc|pgpass|git-credentials|vault-token|vault_pass)$|master\.key$|node-token$)"
)
_READERS = frozenset("cat bat head tail less more type base64 sed".split())
# A command that chooses or makes what is called after a secret: `jq -r .db.password`, `ssh db "cat /etc/password"`.
_LISTING = frozenset("list ls -l -rl --list put patch delete".split())
_NOT_CHOSEN = frozenset(["", "key", "auth", "authorization"])
_CHOSEN = re.compile(r"(?a)[A-Za-z_][\w-]*+(?!\.(?!(?:value|result|plaintext|data|S)\b)\w|\[|/\w)")
_MADE = ("creds", "bearer", "urandom", "random_bytes", "token_hex", "token_urlsafe")
# What prints names, sums or sizes of things: whatever they hold, it is not printed.
_LISTERS = frozenset("ls find stat wc test [ sha1sum sha256sum shasum md5sum cksum git joelclaw".split())
_NAMES = re.compile(r"\bkeys\b|to_entries.*\.key\W*\Z|\.(?:name|id)\W*\Z|\A(?:[^.]*\.)?metadata\b(?!.*\.data)|^policy$")
_ASKING = frozenset("exec token run config debug view-secret".split())  # what kubectl does that tells more
# What a command is given: the word behind an option, and a variable where none is printed.
_TAKES = frozenset("-H --header -l --selector --filter --name -k -m --message --grep --spec -u --user".split())
_GIVEN, _TELLS = re.compile(r"\$\{?\w+\}?"), re.compile(r"\b(?:echo|print\w*|env)\b")
_VARIABLE = re.compile(r"\$\{?(\w+)")
_NUMBER = re.compile(r"[ \t]*\d+(?:[→\t]|\) )")
_FIELD = re.compile(r"""[ \t{,-]*["']?([\w.@/ -]{1,60}?)["']?[ \t]*(?:=>|[:=])[ \t]*["']?""")
_MEMBER = re.compile(r'"([^"\\]{1,60})"[ \t]*:[ \t]*"((?:[^"\\]|\\.)*+)"')
_CELL, _PART, _MIXED = re.compile(r"[^\t|]+"), re.compile(r"\S+"), re.compile(r"[^:/]*\d[A-Za-z]+\d[^:/]*")
_LOGIN = re.compile(
    r"(?:[\w.@\\-]{1,80}|[\w.-]{1,80}:[\w.-]{1,80}@[\w.-]{1,80}):(?=[^\s:/]+\Z)"
)  # in a map of users: `ann@h.test:…`
_PATH = re.compile(r"[a-z]{3,}[a-z.-]*(?:/[a-z\d][a-z\d._-]*)+")  # `pod/web-7d9f8`, a branch, a file
_BEHIND = "\"' \t,}]"
_PUBLIC = frozenset(
    "name id arn kind type version versionid created updated namespace apiversion uid resourceversion labels object"
    " annotations metadata data field tenant subscription tokentype title vault status expireson lease_id path"
    " accessorid description global local policies roles".split()
) | {"accessor id", "create time", "expiry time"}
_FAULT = re.compile(
    r"(?i)^\W*(?:error|fatal|warning|usage|unable|could not|cannot|no such|permission|not logged|you are)\b"
    r"|\b(?:not found|denied|no such|failed|unauthori[sz]ed|forbidden|not set|does not exist|exit code|expired)\b|\sh1:"
)
_PROSE, _LEAST = 4, 4
_WHOLE = ("json", "yaml", "template")
"""Forms in which kubectl prints what a secret holds."""


def find_printed(command: str, path: str, output: str) -> list[Span]:
    """The secrets in what a call returned, in order: what such a command prints, or such a file holds, without faults,
    prose, keys and what a listing says besides."""
    command = command or "cat '" + path.replace("'", "") + "'"
    steps = [step for step in shell_command.steps(command) if not _SILENT.match(" ".join(step["words"]))]
    printing = [_prints(step, command) and not any(map(_NAMES.search, step["words"])) for step in steps]
    chosen = not any(printing)
    if chosen and not _chooses(steps):
        return []
    parts = _PART if any(step["program"] in _READERS for step in steps) else _CELL
    alone = not chosen and (all(printing) or len({step["mark"] for step in steps[:-1]} - {"|"}) == 0)
    spans: list[Span] = []
    at = 0
    for line in output.split("\n"):
        spans += [(at + start, at + end, "secret") for start, end in _values(line, None if alone else parts)]
        at += len(line) + 1
    return spans


def _prints(step: Step, command: str) -> bool:
    program, words = step["program"], step["words"]
    if program in ("echo", "printf"):
        named = [name for word in words for name in _VARIABLE.findall(word)]
        return any(family(name) if name.isupper() else family(name) == "password" for name in named)
    if program == "printenv":
        return any(family(word) for word in words[1:])
    if program == "base64" and not {"-d", "-D", "--decode"}.isdisjoint(words):
        return any(family(word) for word in re.findall(r"\w+", command) if word != "base64")
    if program in ("pass", "gopass") and len(words) == 2:
        return words[1] not in ("ls", "git", "init", "version", "help") and not words[1].startswith("-")
    if program in _READERS and any(_FILES.search(word) for word in words[1:]):
        return True
    if program == "git" and "config" in words:
        return any("credential" in word or family(word.rpartition(".")[2]) for word in words[2:])
    given = {part for word in words for part in (word, *word.split("="))}
    if program in ("kubectl", "oc") and not any(form in word for word in words for form in _WHOLE):
        return "-t" in given  # else a list of names
    return any(name in (program, "*") and given.issuperset(wanted) for name, wanted in _PRINTS)


def _chooses(steps: list[Step]) -> bool:
    """Whether one of the pipelines does, or reads a file that is called after one. What a step lists are names."""
    chosen = False
    for step in steps:
        program, words = step["program"], step["words"]
        lists = program in _LISTERS or (program in ("kubectl", "oc") and _ASKING.isdisjoint(words))
        lists = lists or not _LISTING.isdisjoint(words) or any(map(_NAMES.search, words))
        chosen = not lists and (chosen or any(map(_is_chosen, _told_by(step))))
        if chosen and step["mark"] != "|":
            return True
    return False


def _told_by(step: Step) -> list[str]:
    """The names that say what a step prints, without what it is given."""
    program = step["words"][0].rpartition("/")[2].partition(".")[0]
    names = [program, program.rpartition("-")[2]]
    is_given = False
    for word in (*step["words"][1:], *step["targets"]):
        parts = word.removesuffix(".txt").split("/")
        if is_given or word == "/etc/passwd":
            is_given = False
        elif word in _TAKES or (word[:1] == "-" and family(word.strip("-").partition("=")[0])):
            is_given = "=" not in word
        elif step["program"] in _READERS and not is_file(word.removesuffix(".txt")):
            names += [*parts, *parts[-1].split(".")]
        elif not is_file(word):
            names += _CHOSEN.findall(word if _TELLS.search(word) else _GIVEN.sub("", word))
    return names


def _is_chosen(name: str) -> bool:
    return not {family(name), family(name.removesuffix("s"))} <= _NOT_CHOSEN or name.lower().endswith(_MADE)


def _values(line: str, parts: re.Pattern[str] | None) -> list[tuple[int, int]]:
    """Where the secrets of a line are; none in a fault, in prose, or in a field that is public. Of an output that is
    not of such a command alone, only one of its parts can be one, that looks like a secret and is no path."""
    text = line.rstrip("\r ,")
    start = numbered.end() if (numbered := _NUMBER.match(text)) else len(text) - len(text.lstrip())
    if len(text) - start < _LEAST or _FAULT.search(text):
        return []
    field = _FIELD.match(text, start)
    if parts is not None:
        if len(text[start:].split()) > 3 + (" * " in text) or "(" in text or "->" in text:
            parts = _CELL  # a sentence, or code
        begin = field.end() if field is not None and parts is _CELL and "://" not in text else start
        cells = [match.span() for match in parts.finditer(text, begin)] if len(text[start:].split()) > 1 else []
        return [span for first, end in cells or [(start, len(text))] if (span := _word(text, first, end, bool(cells)))]
    if members := list(_MEMBER.finditer(text, start)):
        return [one.span(2) for one in members if _is_secret(one.group(1), one.group(2))]
    if field is not None and "://" not in field.group():
        end = len(text.rstrip(_BEHIND))
        return [(field.end(), end)] if _is_secret(field.group(1), text[field.end() : end]) else []
    words = text[start:].split()
    is_prose = len(words) >= _PROSE and all(word.strip(".,:;'\"()").isalpha() for word in words)
    is_one = any(map(str.isalnum, text)) and not is_prose and not is_placeholder(text[start:])
    return [(start, len(text))] if is_one else []


def _word(text: str, start: int, end: int, is_cell: bool) -> tuple[int, int] | None:
    """Where the secret stands that is all there is between start and end; one cell of several looks made by chance."""
    word = text[start:end].strip(" \"'")
    start = text.index(word, start)
    if (login := _LOGIN.match(word)) is not None and is_told(word[login.end() :], "password"):
        return start + login.end(), start + len(word)
    is_name = _PATH.fullmatch(word) or (any(part in word.lower() for part in ANNOUNCING) and not _MIXED.fullmatch(word))
    is_like = is_told(word, "password") and (not is_cell or (is_made(word) and "/" not in word and word.count(":") < 2))
    return (start, start + len(word)) if len(word.split()) == 1 and is_like and not is_name else None


def _is_secret(key: str, value: str) -> bool:
    return len(value) >= _LEAST and key.strip().lower() not in _PUBLIC and not is_placeholder(value)
