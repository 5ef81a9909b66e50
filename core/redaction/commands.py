"""Finds the secrets that a command takes or prints: `sshpass -p …`, `curl -u USER:…`, `mysql -p…`, `op read …`.

`find_in_commands` has a table of programs and of the options before the secret, within a line of text. `find_printed`
judges the output of a call by its command, or by the file that it read.
"""

from __future__ import annotations

from core import TYPE_CHECKING, shell_command
from core.names import is_file
from core.redaction import PRINTING, Span, compiled
from core.redaction.assignments import family, is_described
from core.redaction.clues import BEFORE_PASSWORDS
from core.redaction.tokens import DIGITS, is_made_up, is_placeholder

if TYPE_CHECKING:
    import re

    from core.shell_command import Step

_VALUE = r"(?:\\{0,3}'([^'\n]{1,2000}?)\\{0,3}'|\\{0,3}\"([^\"\n]{1,2000}?)\\{0,3}\"|([^\s'\"|;<>`\\]{1,4096}))"
_USER_PAIR = (
    r"(?:\\{0,3}'[^\s:%']{1,100}[:%]([^'\n]{1,200}?)\\{0,3}'|\\{0,3}\"[^\s:%\"]{1,100}[:%]([^\"\n]{1,200}?)\\{0,3}\""
    r"|(?![+\[/.-])[^\s:%\"']{1,100}[:%]([^\s\"'\\]{1,200}))"  # not `date -u +%Y-…`
)
_TO = r"(?:\\{0,3}[\"']?[ \t,=]{1,4})"
_NAME = r"\"?[\w./:-]*(?i:passw(?:or)?d|passphrase|psk|secret|token|(?:api|access)_?key)[\w.-]*[\"']?"
_PROGRAMS = (
    # an option
    ("sshpass|rdesktop|evil-winrm|netexec|nxc |useradd|usermod|az login", "", rf"-p{_TO}?{_VALUE}"),
    ("docker|podman|helm |skopeo |oc |cf |crane ", "login", rf"-p{_TO}{_VALUE}"),
    ("mysql|mariadb|7z", "", rf"-h?p(?![=\s-]|\d{{1,5}}(?:\s|$)){_VALUE}"),
    ("sqlcmd|bcp |zip |unzip |ipmitool|mosquitto", "", rf"-P{_TO}?{_VALUE}"),
    ("plink|pscp|xfreerdp|wlfreerdp", "", rf"(?:-pw[ \t]+|/p:){_VALUE}"),
    ("redis-cli|ldappasswd", "", rf"-[sa]{_TO}(?!/){_VALUE}"),
    ("ldap", "", rf"-w{_TO}{_VALUE}"),
    ("snmp", "", rf"-X{_TO}{_VALUE}"),
    ("snmp", "", rf"-[Ac]{_TO}(?!\S{{0,99}}/){_VALUE}"),
    ("openssl", "", rf"-(?:pass(?:in|out)? pass:|[kK][ \t]+){_VALUE}"),
    ("ssh-keygen", "", rf"-[NP]{_TO}{_VALUE}"),
    ("curl|http |https |smbclient|etcdctl", "", rf"(?:-[uUa]|--user|--proxy-user|--auth){_TO}?{_USER_PAIR}"),
    ("lftp ", "", rf"-u{_TO}[^\s,]{{1,64}},{_VALUE}"),
    ("az |aws |akeyless |kubectl |oc |gh ", "keyvault|securestring|secretsmanager|e-secret|secret set|secret generic",
     rf"(?:--(?:(?:secret-)?value|secret-string|body|from-literal[= ][\"']?[\w.-]+(?==)){_TO}|-b{_TO}?){_VALUE}"),
    # a word in its place
    ("pulumi", "--secret", rf"set[ \t]+(?:-\S+[ \t]+)*[^\s-]\S*[ \t]+(?:-\S+[ \t]+)*{_VALUE}"),
    ("vault ", "", r"(?:login|unseal)[ \t]+(?![A-Za-z]+(?:\s|$))([\w.+/-]{16,}=*)(?![^\s\"'`])"),
    ("rclone ", "", rf"obscure[ \t]+{_VALUE}"),
    ("curl", "", r"(?:-b|--cookie)[ \t=]*[\"']?(?:[^\s;=]{1,60}=[^\s;]{0,200};[ \t]?){0,8}"
     r"[\w.-]{0,40}?(?i:sess|sid|auth|token)\w{0,40}=([^\s;\"'`$\\]{6,4096})"),
    ("net use", "/u", rf"\S+[ \t]+(?![/\\*]){_VALUE}(?=[ \t]+/u(?:ser)?:)"),
    ("net user", "", rf"(?<=net user )[^\s/]\S*[ \t]+(?![/*]|[A-Z]?[a-z]+[.,;:!?]?(?:\s|\Z)){_VALUE}"),
    ("mc alias", "", rf"set(?:[ \t]+\S+){{3}}[ \t]+{_VALUE}"),
    ("wpa_passphrase", "", rf"\S+[ \t]+{_VALUE}"),
    ("htpasswd|mosquitto_passwd", "",
     rf"-(?:(?=\w*b)\w*n\w*|\w*b\w*[ \t]+(?:-\w+[ \t]+)*[^\s-]\S*)[ \t]+\S+[ \t]+{_VALUE}"),
    ("rabbitmqctl|samba-tool", "",
     rf"(?:add_user|change_password|user (?:create|add|setpassword))[ \t]+\S{{1,64}}[ \t]+{_VALUE}"),
    ("radius-server|snmp-server|isakmp", "key|community",
     rf"(?:key|community) (?:\d )?(?=\S*[\d!#$%&*+@]|\S+ address){_VALUE}"),
    ("sqlplus", "", r"[\w.$-]{1,64}/([^\s@\"'/]{3,128})@"),
    ("impacket-|secretsdump|psexec", "", r"[\w.-]{1,64}/[\w.$-]{1,64}:[\"']?([^\s@\"'/]{3,128})[\"']?@"),
    ("consul |etcdctl|redis-cli|nmcli |npm |aws |git |gcloud ", "passw|psk|secret|token|key",
     rf"(?:put|set|SET|modify|connect|config)[ \t](?:[^\s;|&]+[ \t]+){{0,6}}?{_NAME}[ \t]+"
     rf"(?![\"']?(?:\d{{1,7}}(?:ms|[smhd])?|true|false|yes|no|on|off)(?:[\"']|\s|\Z)){_VALUE}"),
)  # fmt: skip
"""(how the program begins, alternatives that its line must contain, the pattern of the option and the secret)."""
# an option of any program, or a user or a share of Windows, before a word that looks like a password
_OPTION = rf"[-/](?<=\s.)(?:(?<=-)(?:([pP])[ =]?|[wv] )|(?<=/)(?:u(?:ser)?:\S+ |/\S+ )){_VALUE}"
_PATTERNS = (
    # a script of Expect, a workflow of GitHub
    ("password", "assword", r"assword[^\n]{0,40}[\s;}]{1,9}send (?:-- )?[\"{]([^\"{}\n$]{3,80}?)\\{1,2}[rn]"),
    ("secret", "::add-mask|::set-output|::save-state",
     rf"::(?:add-mask|(?:set-output|save-state) name={_NAME.replace('secret', 'secret|pw')})::([^\s\"'`$]{{4,1024}})"),
    ("password", "securestring", r"(?i)ConvertTo-SecureString +(?:-String +)?[\"']([^\"'$\n]{3,200})[\"']"),
    # what a command is given instead of a file
    ("secret", "<<<", r"(?i:secret|passw|passphrase|login|token|kinit|cryptsetup|env add)[^\n]{0,160}?"
     rf"<<<[ \t]{{0,3}}(?:\$(?='))?{_VALUE}"),
    # what `echo` pipes to a command that reads a password
    ("password",
     "--password-stdin|sudo -s|passphrase-fd|with-token|passwd|cryptsetup|kinit|secret |secrets |env add|kv put",
     rf"(?:e(?<![\w-]e)cho|p(?<![\w-]p)rintf)[ \t](?:[^\n|]{{0,240}}?[ \t])?{_VALUE}[ \t]*\|[ \t]*"
     r"(?:[^\n|;&]{0,100}?(?:--password-stdin|sudo -S|--passphrase-fd|--with-token|secret (?:set|put)|env add "
     r"|(?:secret create|kv put)[ \t][^\n|]{0,200}?[ =]-(?![\w-]))"
     r"|(?:(?:sudo|ssh|chroot|docker|podman|kubectl)[ \t](?:[^\n|;&]{0,80}?[ \t])?)?[\"']?(?:/[a-z/]*bin/)?"
     r"(?:[a-z]{0,4}passwd|cryptsetup|kinit)(?![\w./-]))"),
    # a value for a store of secrets
    ("secret", "secret set|secret put|secret create|secrets set|secrets put|secrets create|kv put|kv patch",
     r"(?:secrets? (?:set|put|create)|kv (?:put|patch))[ \t](?:(?:\\\n|[^\n]){0,400}?[ \t])??"
     rf"(?<![\w.=-])(?!(?:user(?:name)?|host|port|ttl)=)[A-Za-z_][\w.-]{{0,63}}=(?![\"']?\[){_VALUE}"),
    # what a command prints on the line below
    ("secret", "op read |vault |get-secret|secret show|find-generic|pass show|base64 -|versions access",
     r"(?:op read |vault (?:kv get|read) -field|get-secret-value|keyvault secret show|find-generic-password|pass show "
     r"|secret[^\n]{0,400}?(?:base64 -(?:d|-decode|D)|versions access)|base64 -(?:d|-decode|D)(?= [^\n]{0,99}secret))"
     r"[^\n]{0,400}\n[ \t]*((?![/.{\[<-])(?=[^\s]*\d)(?=[^\s]*[A-Za-z])\S{6,240})[ \t]*(?=\n|\Z)"),
)  # fmt: skip
"""(kind, alternatives that the text must contain, pattern): what commands take or print."""


def find_in_commands(text: str, lower: str, signs: set[str]) -> list[Span]:
    """The (start, end, kind) of each secret that a command takes or prints."""
    arguments = (
        r"\\{0,3}[\"']?,?(?:[^\n|;&'\"()\\]|\\\n|\\{1,3}[\"'A-Za-mo-qsu-z]|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"){0,300}?"
        r"\\{0,3}[\"']?(?<=[\s\"'])"
    )
    spans: list[Span] = []
    for programs, needed, secret in _PROGRAMS:
        if any(map(lower.__contains__, needed.split("|"))):
            needs = rf"(?=[^\n]{{0,400}}?(?i:{needed}))" if needed else ""
            for program in filter(text.__contains__, programs.split("|")):
                begins = rf"{program}(?:(?<![^\s/;|&($`\"'=]{program})|(?<=\\n{program}))"
                rule = compiled(rf"{begins}{needs}[\w.-]{{0,20}}(?:(?<= )|(?=[\s\"'\\])){arguments}{secret}")
                for match in rule.finditer(text):
                    _add(match, "password", spans)
    for match in compiled(_OPTION).finditer(text) if not signs.isdisjoint(BEFORE_PASSWORDS[1:]) else ():
        if _looks_like_password(match):
            _add(match, "password", spans)
    for kind, needed, pattern in _PATTERNS:
        for match in compiled(pattern).finditer(text) if any(map(lower.__contains__, needed.split("|"))) else ():
            _add(match, kind, spans)
    return spans


def _looks_like_password(match: re.Match[str]) -> bool:
    """Whether the word has a digit and other kinds of characters, and is no path, host, port, pattern or file.

    Without a sign it could be a folder or a package, as in `mkdir -p` or `cargo -p`: then a user must come before it.
    """
    value = match.group(match.lastindex or 0)
    if len(value) < 6 or DIGITS.isdisjoint(value) or not set("/\\:=@[]{}()<> ").isdisjoint(value) or is_file(value):
        return False
    has_sign, is_cased = not set("!#%&$").isdisjoint(value), value.lower() != value != value.upper()
    is_attached = match.group()[2:3] in ("'", '"')  # `-p'…'`
    before = match.string[max(0, match.start() - 160) : match.start()].rpartition("\n")[2].lower()
    has_user = bool(match.group(1)) and any(map(before.__contains__, (" -u", "--user", "@", "login")))
    return has_sign or (len(value) >= 8 and (is_attached or (has_user and is_cased)))


def _add(match: re.Match[str], kind: str, spans: list[Span]) -> None:
    """Add the word in the place of a secret, unless it is an option, a variable, a port or a word from a manual."""
    group = match.lastindex or 0
    value = match.group(group)
    if group > 2 or match.re.groups == 1:
        value = value.rstrip(",])}") or value
    if len(value) < 3 or value[0] in "-$[<%" or is_placeholder(value) or (value.isalpha() and value.isupper()):
        return
    ports = r"[\d.-]+:(?:[\d.-]+:)*[\d.-]{1,5}(?:/|\Z)"  # `3306:3306`, `127.0.0.1:53:53/udp`
    if ":" not in value or not compiled(ports).match(value):
        spans.append((match.start(group), match.start(group) + len(value), kind))


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
    is_alone = all(printing) or all(step["mark"] == "|" for step in steps[:-1])
    is_whole = any(printing) and is_alone and "--password-stdin" not in command  # which prints none
    return [
        (line.start() + start, line.start() + end, "secret")
        for line in compiled(r"[^\n]+").finditer(output)
        for start, end in _values_in(line.group(), is_whole=is_whole)
    ]


def _prints_secret(step: Step, command: str) -> bool:
    """Whether a step of a command prints a secret and nothing else."""
    program, words = step["program"], step["words"]
    if program in ("echo", "printf"):
        names = [name for word in words for name in compiled(_VARIABLE).findall(word)]
        return any(family(name) if name.isupper() else family(name) == "password" for name in names)
    if "printenv" in (program, *words):  # perhaps in a container
        return any(map(family, words[-2:]))
    if program == "base64" and not {"-d", "-D", "--decode"}.isdisjoint(words):
        return any(family(word) for word in compiled(r"\w+").findall(command) if word != "base64")
    if program in ("pass", "gopass") and len(words) == 2:
        return words[1] not in "ls list show find git init version help".split() and not words[1].startswith("-")
    files = r"(?:^|/)(?:(?:var/)?run/secrets/.|\.(?:netrc|pgpass|git-credentials|vault-token|vault_pass)$|master\.key$)"
    if program in _READERS and any(map(compiled(files).search, words[1:])):
        return True
    given = {part for word in words for part in (word.lower(), *word.lower().split("="))}
    if program in ("kubectl", "oc") and not any(part in word for part in ("json", "yaml", "templ") for word in words):
        return "-t" in given  # otherwise it is a list of names
    return any(first in (program, "") and given.issuperset(rest) for first, *rest in (c.split(" ") for c in PRINTING))


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
        for name in _names_in(step):
            families = {family(name), family(name.removesuffix("s"))}
            selects = selects or name.lower().endswith(makers) or not families <= {"", "key", "auth", "authorization"}
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
    start = len(text) - len(compiled(r"\A[ \t]*(?:\d+(?:→|\t|\) ))?[ \t]*").sub("", text))
    fault = (
        r"(?i)^\W*(?:(?:an )?error|fatal|warning|usage|unable|could not|cannot|no such|permission|not logged|you are)\b"
        r"|\b(?:not found|denied|no such|no [\w ]{1,30}found|failed|unauthori[sz]ed|forbidden|not set|does not exist"
        r"|exit code|expired)\b|^\W*[├└]─"  # the last in a tree of names
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
    for match in compiled(r"[^\s\"'|]+").finditer(text, start) if len(words) < 4 and "(" not in text else ():
        word = match.group()
        user, _, value = word.rpartition(":")
        value = value if "@" in user else word  # `ann@h.test:…`
        numbered_name = r"(?i)(?:password|secret|token|key)[a-z\d]*\Z"  # `secret42` is a value here
        judged = f"x{value}" if compiled(numbered_name).match(value) else value
        fits = len(words) == 1 or value != word or is_made_up(value)
        if fits and "/" not in value and not word.startswith("arn:") and is_described(judged, "password"):
            spans.append((match.end() - len(value), match.end()))
    return spans


def _is_secret_field(key: str, value: str) -> bool:
    public = (
        "name id arn kind type version versionid created updated namespace apiversion uid resourceversion labels object"
        " metadata data field tenant subscription tokentype title vault status lease_id path accessorid description"
        " policies roles user username login email"
    )
    return len(value) >= 4 and key.strip().lower() not in public.split() and not is_placeholder(value)
