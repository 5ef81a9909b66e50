"""Finds the secrets that a command takes or prints: `sshpass -p …`, `curl -u USER:…`, `mysql -p…`, `op read …`.

`find_in_commands` has a table of programs and of the options before the secret, within a line of text. `find_printed`
judges the output of a call by its command, or by the file that it read.
"""

from __future__ import annotations

from core import TYPE_CHECKING, shell_command
from core.names import is_file
from core.redaction import compiled
from core.redaction.assignments import is_described
from core.redaction.names import family
from core.redaction.rules import ANNOUNCING, COMMANDS, PATTERNS, PRINTING, VALUE
from core.redaction.tokens import Span, is_made_up, is_placeholder

if TYPE_CHECKING:
    import re

    from core.shell_command import Step


def find_in_commands(text: str, anchors: set[str]) -> list[Span]:
    """The (start, end, kind) of each secret that a command takes or prints. `anchors`: those that the text contains."""
    spans: list[Span] = []
    _apply_rules(text, anchors, spans)
    for kind, signs, pattern in PATTERNS:
        for match in compiled(pattern).finditer(text) if not anchors.isdisjoint(signs) else ():
            _add(match, kind, spans)
    workflow = r"::(?:set-output|save-state) name=([\w-]{1,64})::([^\s\"'`]{4,1024})"
    for match in compiled(workflow).finditer(text) if "::s" in text else ():
        if family(match.group(1)):
            _add(match, "secret", spans)
    setters = (
        r"(?:secrets? (?:set|import|put|create)|add-secret|nomad var put|(?:vault|bao) [^\n]{0,80}?kv (?:put|patch)"
        r"|(?:vault|bao) write(?=[^\n]{0,80}?(?:secret|kv|cubbyhole)/)) ((?:\\\n|[^\n]){0,2000})"
    )
    setting = rf"(?<![\w.=-])(?!(?:user(?:name)?|host|port|ttl)=)[A-Za-z_][\w.-]{{0,63}}={VALUE}"
    sets = not anchors.isdisjoint(("secret", "vault ", "bao kv", "nomad var"))
    for words in compiled(setters).finditer(text) if sets else ():
        for match in compiled(setting).finditer(text, *words.span(1)):
            _add(match, "secret", spans)
    return spans


def _apply_rules(text: str, anchors: set[str], spans: list[Span]) -> None:
    arguments = (
        r"\\{0,3}[\"']?,?(?:[^\n|;&'\"()\\]|\\\n|\\{1,3}[\"'A-Za-mo-qsu-z]|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"){0,300}?"
        r"\\{0,3}[\"']?(?<=[\s\"'])"
    )
    for programs, needed, secret in COMMANDS:
        for program in programs if not anchors.isdisjoint(needed or programs) else ():
            at = text.find(program)
            rule = compiled(rf"[\w.-]{{0,20}}(?:(?<= )|(?=[\s\"'\\])){arguments}{secret}") if at >= 0 else None
            while rule is not None and at >= 0:
                done = at + len(program)
                is_program = not at or text[at - 1] in " \t\n/;|&($`\"'=" or text[at - 2 : at] == "\\n"
                line = text[at : at + 400].partition("\n")[0].lower() if needed else ""
                if is_program and any(word in line for word in needed or ("",)):
                    match = rule.match(text, done)
                    if match is not None:
                        _add(match, "token" if "unseal" in secret else "password", spans)
                        done = match.end() - 1
                    else:
                        done = _end_of_mention(text, done)
                at = text.find(program, done)


def _end_of_mention(text: str, at: int) -> int:
    """Where to look for a program again whose name ends at an offset, and which takes no secret there.

    That is after its arguments; or at once if punctuation follows the name: "mysql: mysql -p…".
    """
    while at < len(text) and (text[at].isalnum() or text[at] in "_.-"):
        at += 1
    if text[at - 1] not in " \t" and text[at : at + 1] not in (" ", "\t", '"', "'", "\\"):
        return at
    end = compiled(r"[;|&\n]").search(text, at, at + 150)
    return end.start() if end is not None else at + 150


def _add(match: re.Match[str], kind: str, spans: list[Span]) -> None:
    group = match.lastindex or 0
    value = match.group(group)
    if group > 2 or match.re.groups == 1:
        value = value.rstrip(",])}") or value
    if _is_secret(value):
        spans.append((match.start(group), match.start(group) + len(value), kind))


def _is_secret(value: str) -> bool:
    """Whether a word in the place of a secret is a secret, and not an option, a variable or a word from a manual."""
    if len(value) < 3 or value[0] in "-$[<%" or is_placeholder(value):
        return False
    ports = r"[\d.-]+:(?:[\d.-]+:)*[\d.-]{1,5}(?:/|\Z)"  # `3306:3306`, `127.0.0.1:53:53/udp`
    return not compiled(ports).match(value) and not (value.isalpha() and value.isupper())


_NAMES = r"\bkeys\b|to_entries.*\.key\W*\Z|\.(?:name|id)\W*\Z|\A(?:[^.]*\.)?metadata\b(?!.*\.data)|^policy$"
_READERS = ("cat", "bat", "head", "tail", "less", "more", "type", "base64", "sed")
_VARIABLE = r"\$\{?(\w+)\}?"


def find_printed(command: str, path: str, output: str) -> list[Span]:
    """The secrets in a call's output, in order. Error messages, prose, keys and listings stay."""
    silent, selects_names = r"(?:cd|export|set|source)\b|echo\Z", compiled(_NAMES).search
    command = command or "cat '" + path.replace("'", "") + "'"
    steps = [step for step in shell_command.steps(command) if not compiled(silent).match(" ".join(step["words"]))]
    printing = [_prints_secret(step, command) and not any(map(selects_names, step["words"])) for step in steps]
    if not any(printing) and not _selects_secret(steps):
        return []
    is_whole = any(printing) and (all(printing) or not {step["mark"] for step in steps[:-1]} - {"|"})
    spans: list[Span] = []
    at = 0
    for line in output.split("\n"):
        spans += [(at + start, at + end, "secret") for start, end in _values_in(line, is_whole=is_whole)]
        at += len(line) + 1
    return spans


def _prints_secret(step: Step, command: str) -> bool:
    """Whether a step of a command prints a secret and nothing else."""
    program, words = step["program"], step["words"]
    if program in ("echo", "printf"):
        names = [name for word in words for name in compiled(_VARIABLE).findall(word)]
        return any(family(name) if name.isupper() else family(name) == "password" for name in names)
    if program == "printenv":
        return any(map(family, words[1:]))
    if program == "base64" and not {"-d", "-D", "--decode"}.isdisjoint(words):
        return any(family(word) for word in compiled(r"\w+").findall(command) if word != "base64")
    if program in ("pass", "gopass") and len(words) == 2:
        return words[1] not in ("ls", "git", "init", "version", "help") and not words[1].startswith("-")
    files = r"(?:^|/)(?:(?:var/)?run/secrets/.|\.(?:netrc|pgpass|git-credentials|vault-token|vault_pass)$|master\.key$)"
    if program in _READERS and any(map(compiled(files).search, words[1:])):
        return True
    given = {part for word in words for part in (word.lower(), *word.lower().split("="))}
    if program in ("kubectl", "oc") and not any(part in word for part in ("json", "yaml", "templ") for word in words):
        return "-t" in given  # otherwise it is a list of names
    printing = (words.split(" ") for words in PRINTING)
    return any(words[0] in (program, "") and given.issuperset(words[1:]) for words in printing)


def _selects_secret(steps: list[Step]) -> bool:
    """Whether a pipeline selects something named after a secret, or reads such a file. Listings print only names."""
    # programs and verbs that print names, sums or sizes, or make something: no contents
    listers = "ls find stat wc test [ sha1sum sha256sum shasum md5sum cksum git joelclaw".split()
    makers = ("creds", "bearer", "urandom", "random_bytes", "token_hex", "token_urlsafe")
    listing = {"list", "ls", "-l", "-rl", "--list", "put", "patch", "delete"}
    selects = False
    for step in steps:
        program, words = step["program"], step["words"]
        lists = program in listers or not listing.isdisjoint(words) or any(map(compiled(_NAMES).search, words))
        if program in ("kubectl", "oc"):
            lists = lists or {"exec", "token", "run", "config", "debug", "view-secret"}.isdisjoint(words)
        if not lists and not selects:
            names = _names_in(step)
            families = {family(form) for name in names for form in (name, name.removesuffix("s"))}
            selects = not families <= {"", "key", "auth", "authorization"} or any(
                name.lower().endswith(makers) for name in names
            )
        selects = selects and not lists
        if selects and step["mark"] != "|":
            return True
    return False


def _names_in(step: Step) -> list[str]:
    """The names that may say what a step prints, without the values of its options."""
    program = step["words"][0].rpartition("/")[2].partition(".")[0]
    names = [program, program.rpartition("-")[2]]
    with_value = "-H --header -l --selector --filter --name -k -m --message --grep --spec -u --user".split()
    # `jq -r .db.password`, `ssh db "cat /etc/password"`
    selected = r"(?a)[A-Za-z_][\w-]*+(?!\.(?!(?:value|result|plaintext|data|S)\b)\w|\[|/\w)"
    is_value = False
    for word in (*step["words"][1:], *step["targets"]):
        parts = word.removesuffix(".txt").split("/")
        if is_value or word == "/etc/passwd":
            is_value = False
        elif word in with_value or (word[:1] == "-" and family(word.strip("-").partition("=")[0])):
            is_value = "=" not in word
        elif step["program"] in _READERS and not is_file(word.removesuffix(".txt")):
            names += [*parts, *parts[-1].split(".")]
        elif not is_file(word):
            prints = compiled(r"\b(?:echo|print\w*|env)\b").search(word)
            names += compiled(selected).findall(word if prints else compiled(_VARIABLE).sub("", word))
    return names


def _values_in(line: str, *, is_whole: bool) -> list[tuple[int, int]]:
    """The secrets in a line of output, without error messages, prose and public fields.

    `is_whole`: nothing but secrets is printed. Otherwise, a secret is the only word of a line, or looks made up.
    """
    text = line.rstrip("\r ,")
    numbered = compiled(r"[ \t]*(?:\d+(?:→|\t|\) ))?[ \t]*").match(text)
    start = numbered.end() if numbered else 0
    fault = (
        r"(?i)^\W*(?:error|fatal|warning|usage|unable|could not|cannot|no such|permission|not logged|you are)\b"
        r"|\b(?:not found|denied|no such|failed|unauthori[sz]ed|forbidden|not set|does not exist|exit code|expired)\b"
    )
    if len(text) - start < 4 or compiled(fault).search(text):
        return []
    words = text[start:].split()
    if is_whole:
        members = list(compiled(r'"([^"\\]{1,60})"[ \t]*:[ \t]*"((?:[^"\\]|\\.)*+)"').finditer(text, start))
        if members:
            return [member.span(2) for member in members if _is_secret_field(member.group(1), member.group(2))]
        name = compiled(r"""[ \t{,-]*["']?([\w.@/ -]{1,60}?)["']?[ \t]*(?:=>|[:=])[ \t]*["']?""").match(text, start)
        if name is not None and "://" not in name.group():
            end = len(text.rstrip("\"' \t,}]"))
            return [(name.end(), end)] if _is_secret_field(name.group(1), text[name.end() : end]) else []
        is_prose = len(words) >= 4 and all(word.strip(".,:;'\"()").isalpha() for word in words)
        return [] if is_prose or is_placeholder(text[start:]) else [(start, len(text))]
    spans = []
    path = r"[a-z]{3,}[a-z.-]*(?:/[a-z\d][a-z\d._-]*)+\Z"  # `pod/web-7d9f8`, a branch, a file
    for match in compiled(r"[^\s\"'|]+").finditer(text, start) if len(words) < 4 and "(" not in text else ():
        word = match.group()
        user, _, value = word.rpartition(":")
        value = value if "@" in user else word  # `ann@h.test:…`
        is_mixed = compiled(r"[^:/]*\d[A-Za-z]+\d[^:/]*").fullmatch(word)
        is_name = (any(part in word.lower() for part in ANNOUNCING) and not is_mixed) or compiled(path).match(word)
        fits = len(words) == 1 or value != word or is_made_up(value)
        if fits and not is_name and "/" not in value and is_described(value, "password"):
            spans.append((match.end() - len(value), match.end()))
    return spans


def _is_secret_field(key: str, value: str) -> bool:
    public = (
        "name id arn kind type version versionid created updated namespace apiversion uid resourceversion labels object"
        " metadata data field tenant subscription tokentype title vault status lease_id path accessorid description"
        " policies roles"
    )
    return len(value) >= 4 and key.strip().lower() not in public.split() and not is_placeholder(value)
