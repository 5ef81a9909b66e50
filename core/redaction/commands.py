"""Finds the secrets that a command takes or prints: `sshpass -p …`, `curl -u USER:…`, `mysql -p…`, `op read …`.

`find_in_commands` has a table of programs and of the options before the secret, within a line of text. `find_printed`
judges the output of a call by its command, or by the file that it read.
"""

from __future__ import annotations

from core import TYPE_CHECKING, shell_command
from core.names import is_file
from core.redaction import ANNOUNCING, MARK, compiled
from core.redaction.values import Span, family, is_described, is_made_up, is_placeholder

if TYPE_CHECKING:
    import re

    from core.shell_command import Step

VALUE = r"(?:\\{0,3}'([^'\n]{1,2000}?)\\{0,3}'|\\{0,3}\"([^\"\n]{1,2000}?)\\{0,3}\"|([^\s'\"|;<>`\\]{1,4096}))"
USER_PAIR = (
    r"(?:\\{0,3}'[^\s:%'/]{1,100}[:%]([^'\n]{1,200}?)\\{0,3}'|\\{0,3}\"[^\s:%\"/]{1,100}[:%]([^\"\n]{1,200}?)\\{0,3}\""
    r"|(?![+\[])[^\s:%\"'/]{1,100}[:%]([^\s\"'\\]{1,200}))"  # not `date -u +%Y-…`
)
TO = r"\\{0,3}[\"']?[ \t,=]{1,4}"
ARGUMENTS = (
    r"\\{0,3}[\"']?,?(?:[^\n|;&'\"()\\]|\\\n|\\{1,3}[\"'A-Zac-eg-mo-qsu-z]|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"){0,300}?"
    r"\\{0,3}[\"']?(?<=[\s\"'])"
)
# (how the program begins, how its name goes on, a word that the line must contain, the pattern of option and secret)
RULES = (
    (("sshpass", "rdesktop", "evil-winrm", "netexec", "nxc ", "useradd", "usermod"), "", "", rf"-p(?:{TO})?{VALUE}"),
    (("mongo", "cqlsh", "twine upload", "az login", "acr login"), "(?:sh|dump|restore)?", "", rf"-p{TO}{VALUE}"),
    (("redis-cli",), "", "", rf"(?:-a|--pass){TO}{VALUE}"),
    (("docker", "podman", "nerdctl ", "helm ", "skopeo ", "buildah ", "oc ", "cf ", "crane ", "oras ", "regctl "),
     "", "login", rf"-p{TO}{VALUE}"),
    (("keytool ",), "", "passwd", rf"-new{TO}{VALUE}"),
    (("terraform ", "tofu ", "pulumi "), "", " import ",
     r"[\w.\[\]-]*(?:api|auth|access|secret|license)_?(?:key|token)\S*[ \t]+"
     r"([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"),
    (("podman", "skopeo ", "buildah "), "", "creds", rf"--(?:src-|dest-)?creds{TO}{USER_PAIR}"),
    (("ldap",), "(?:search|modify|add|delete|passwd|whoami)", "", rf"-w{TO}{VALUE}"),
    (("mysql", "mariadb"), "-?(?:dump|admin)?", "", rf"-p(?![=\s-]|\d{{1,5}}(?:\s|$)){VALUE}"),
    (("7z", "unrar"), "[az]?", "", rf"-p(?![=\s-]){VALUE}"),
    (("sqlcmd", "bcp ", "zip ", "unzip ", "ipmitool", "mosquitto"), r"(?:_[a-z]+)?", "", rf"-P(?:{TO})?{VALUE}"),
    (("xfreerdp", "wlfreerdp", "sdl-freerdp"), r"\d?", "", rf"/p:{VALUE}"),
    (("snmp",), "(?:[gswbu]|t(?!rapd))[a-z]*", "", rf"-X{TO}{VALUE}"),
    (("snmp",), "(?:[gswbu]|t(?!rapd))[a-z]*", "", rf"-(?:A{TO}|c{TO}(?!(?:public|private)\b|\S{{0,99}}/)){VALUE}"),
    (("ldappasswd",), "", "", rf"-[sa]{TO}{VALUE}"),
    (("http ", "https "), "", "", rf"(?:-a|--auth){TO}{USER_PAIR}"),
    (("curl", "smbclient", "etcdctl"), "", "", rf"(?:-[uU]|--user|--proxy-user)(?:{TO})?{USER_PAIR}"),
    (("az ",), "", "keyvault", rf"--value{TO}{VALUE}"),
    (("aws ",), "", "SecureString", rf"--value{TO}{VALUE}"),
    (("aws ",), "", "secretsmanager", rf"--secret-string{TO}{VALUE}"),
    (("tacacs-server", "radius-server", "snmp-server", "isakmp"), "", "",
     rf"(?:key|community) (?:\d )?(?=\S*[\d!#$%&*+@]|\S+ address){VALUE}"),
    (("kubectl ", "oc "), "", "secret", rf"--from-literal[= ][\"']?[\w.-]+={VALUE}"),
    (("gh ",), "", "secret", rf"(?:--body|-b){TO}{VALUE}"),
    (("openssl",), "", "", rf"-(?:pass(?:in|out)? pass:|[kK][ \t]+){VALUE}"),
    (("rabbitmqctl", "samba-tool"), "", "",
     rf"(?:add_user|change_password|authenticate_user|user (?:create|add|setpassword))[ \t]+\S{{1,64}}[ \t]+{VALUE}"),
    (("plink", "pscp", "psftp"), "", "", rf"-pw[ \t]+{VALUE}"),
    (("lftp",), "", "", r"(?:-u|--user)[ =]?[\"']?[^\s,\"']{1,64},([^\s\"']{1,128})"),
    (("sqlplus",), "", "", r"[\w.$#]{1,64}/([^\s@\"'/]{1,128})@"),
    (("composer",), "", "",
     rf"(?:http-basic\.\S{{1,99}}[ \t]+|git(?:hub|lab)-(?:oauth|token)\.)\S{{1,99}}[ \t]+{VALUE}"),
    (("htpasswd", "mosquitto_passwd"), "", "", rf"-\w*b\w*[ \t]+(?:-\w+[ \t]+)*[^\s-]\S*[ \t]+\S+[ \t]+{VALUE}"),
    (("pulumi",), "", "--secret", rf"set[ \t]+(?:-\S+[ \t]+)*[^\s-]\S*[ \t]+(?:-\S+[ \t]+)*{VALUE}"),
    (("ConvertTo-SecureString",), "", "-AsPlainText", rf"(?:-String[ \t]+)?(?!-){VALUE}"),
    (("vault ",), "", "", r"(?:login|unseal)[ \t]+(?![A-Za-z]+(?:\s|$))([\w.+/-]{16,}=*)(?![^\s\"'`])"),
    (("mc ",), "", "", rf"alias set(?:[ \t]+\S+){{3}}[ \t]+{VALUE}"),
    (("ssh-keygen",), "", "", rf"-[NP]{TO}{VALUE}"),
    (("wpa_passphrase",), "", "", rf"\S+[ \t]+{VALUE}"),
    (("impacket-", "secretsdump", "psexec", "wmiexec", "smbexec"), "[a-zA-Z.]*", "",
     r"[\w.-]{1,64}/[\w.$-]{1,64}:[\"']?([^\s@\"'/]{3,128})[\"']?@"),
    (("consul ", "etcdctl", "redis-cli", "nmcli "), "", "",
     r"(?:put|set|SET|modify|connect)[ \t](?:[^\s;|&]+[ \t]+){0,6}?"
     rf"[\"']?[\w./:-]*(?:passw(?:or)?d|passphrase|psk|secret|token|api_?key|PASSWORD|Password)[\"']?[ \t]+"
     rf"(?![\"']?(?:\d{{1,7}}(?:ms|[smhd])?|true|false|yes|no|on|off)(?:[\"']|\s|\Z)){VALUE}"),
)  # fmt: skip


def find_in_commands(text: str) -> list[Span]:
    """The (start, end, kind) of each secret that a command takes or prints."""
    spans: list[Span] = []
    _apply_rules(text, spans)
    for pattern in (
        r"-p(?<=\s-p)(?:'(?! )([^'\n]{1,200})'|\"(?! )([^\"\n]{1,200})\")",
        r"jdbc:oracle:(?:thin|oci8?):[\w.$#]{1,64}/([^\s@\"'/]{1,128})@",
        r"assword[^\n]{0,40}[\s;}]{1,9}send (?:-- )?[\"{]([^\"{}\n$]{3,80}?)\\{1,2}[rn]",  # a script of Expect
    ):
        for match in compiled(pattern).finditer(text):
            _add(match, "password", spans)
    workflow = r"::(?:set-output|save-state) name=([\w-]{1,64})::([^\s\"'`]{4,1024})|::add-mask::([^\s\"'`$]{4,1024})"
    for match in compiled(workflow).finditer(text) if "::" in text else ():
        if match.group(3) or family(match.group(1)):
            _add(match, "secret", spans)
    if "|" in text:
        _add_piped(text, spans)
    # what a command prints on the line below; the first two only if the line says so
    printing = (
        r"(base64 (?:-d|--decode|-D)|versions access)|op read |vault (?:kv get|read) -field|get-secret-value"
        r"|keyvault secret show|find-generic-password|pass show "
    )
    word = r"[^\n]{0,400}\n[ \t]*((?![/.{\[<-])(?=[^\s]*\d)(?=[^\s]*[A-Za-z])\S{6,240})[ \t]*(?:\n|\Z)"
    for match in compiled(printing).finditer(text):
        line = text[max(0, text.rfind("\n", 0, match.start()) + 1, match.start() - 400) : match.end() + 400]
        printed = compiled(word).match(text, match.end())
        if printed is not None and (not match.group(1) or "secret" in line.partition("\n")[0]):
            _add(printed, "secret", spans)
    readers = ("secret", "passw", "passphrase", "login", "token", "kinit", "cryptsetup")  # of what `<<<` gives them
    for sign in compiled(rf"<<<[ \t]{{0,3}}(?:\$(?='))?{VALUE}").finditer(text):
        head = text[max(0, sign.start() - 160) : sign.start()].rsplit("\n", 1)[-1].lower()
        if any(word in head for word in readers):
            _add(sign, "secret", spans)
    for words in compiled(r"secrets set ([^\n]{0,2000})").finditer(text):
        for setting in compiled(rf"[A-Za-z_]\w{{0,63}}={VALUE}").finditer(text, *words.span(1)):
            _add(setting, "secret", spans)
    return spans


def _apply_rules(text: str, spans: list[Span]) -> None:
    for anchors, rest, needed, secret in RULES:
        for anchor in anchors:
            at = text.find(anchor)
            rule = compiled(rf"{rest}(?:(?<= )|(?=[\s\"'\\])){ARGUMENTS}{secret}") if at >= 0 else None
            while rule is not None and at >= 0:
                done = at + len(anchor)
                is_program = not at or text[at - 1] in " \t\n/;|&($`\"'=" or text[at - 2 : at] == "\\n"
                if is_program and (not needed or needed in text[at : at + 400].partition("\n")[0]):
                    match = rule.match(text, done)
                    if match is not None:
                        _add(match, "token" if "unseal" in secret else "password", spans)
                        done = match.end() - 1
                    else:
                        done = _end_of_mention(text, done)
                at = text.find(anchor, done)


def _end_of_mention(text: str, at: int) -> int:
    """Where to look for a program again whose name ends at an offset, and which takes no secret there.

    That is after its arguments; or at once if punctuation follows the name: "mysql: mysql -p…".
    """
    while at < len(text) and (text[at].isalnum() or text[at] in "_.-"):
        at += 1
    if text[at : at + 1] not in (" ", "\t", '"', "'", "\\"):
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


def _add_piped(text: str, spans: list[Span]) -> None:
    """Add what `echo` or `printf` pipes to a command that reads a password: the last of its words."""
    piped = (
        r"(?:e(?<![\w-]e)cho|p(?<![\w-]p)rintf)[ \t]([^\n|]{1,240})\|[ \t]*(?:"
        r"[^\n|;&]{0,100}?(?:--password-stdin|sudo -S|--passphrase-fd|--with-token)|(?:(?:sudo|ssh|chroot|docker|podman"
        r"|kubectl)[ \t](?:[^\n|;&]{0,80}?[ \t])?)?[\"']?(?:/[a-z/]*bin/)?"
        r"([a-z]{0,4}passwd|cryptsetup|kinit)(?![\w./-]))"
    )
    for match in compiled(piped).finditer(text):
        given = match.group(1).rstrip()
        quote = given[-1:] if given[-1:] in ("'", '"') else ""
        value = given[:-1].rpartition(quote)[2] if quote else given.rpartition(" ")[2]
        if match.group(2) == "chpasswd":
            value = value.rpartition(":")[2]
        if value and MARK not in given and ";" not in value and "%s" not in value and _is_secret(value):
            start = match.start(1) + given.rindex(value)
            spans.append((start, start + len(value), "password"))


# Programs (or any, *) and the words that together print a secret.
PRINTING_COMMANDS = tuple(
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
_NAMES = r"\bkeys\b|to_entries.*\.key\W*\Z|\.(?:name|id)\W*\Z|\A(?:[^.]*\.)?metadata\b(?!.*\.data)|^policy$"
_READERS = ("cat", "bat", "head", "tail", "less", "more", "type", "base64", "sed")
_VARIABLE = r"\$\{?(\w+)\}?"
_CELL = r"[^\t|]+"
_FIELD = r"""[ \t{,-]*["']?([\w.@/ -]{1,60}?)["']?[ \t]*(?:=>|[:=])[ \t]*["']?"""


def find_printed(command: str, path: str, output: str) -> list[Span]:
    """The secrets in a call's output, in order. Error messages, prose, keys and listings stay."""
    silent, selects_names = r"(?:cd|export|set|source)\b|echo\Z", compiled(_NAMES).search
    command = command or "cat '" + path.replace("'", "") + "'"
    steps = [step for step in shell_command.steps(command) if not compiled(silent).match(" ".join(step["words"]))]
    printing = [_prints_secret(step, command) and not any(map(selects_names, step["words"])) for step in steps]
    if not any(printing) and not _selects_secret(steps):
        return []
    is_whole = any(printing) and (all(printing) or not {step["mark"] for step in steps[:-1]} - {"|"})
    parts = r"\S+" if any(step["program"] in _READERS for step in steps) else _CELL
    spans: list[Span] = []
    at = 0
    for line in output.split("\n"):
        values = _values_of_line(line) if is_whole else _values_among_others(line, parts)
        spans += [(at + start, at + end, "secret") for start, end in values]
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
    files = (
        r"(?:^|/)(?:(?:var/)?run/secrets/.|\.(?:netrc|pgpass|git-credentials|vault-token|vault_pass)$|master\.key$"
        r"|node-token$)"
    )
    if program in _READERS and any(map(compiled(files).search, words[1:])):
        return True
    if program == "git" and "config" in words:
        return any("credential" in word or family(word.rpartition(".")[2]) for word in words[2:])
    given = {part for word in words for part in (word, *word.split("="))}
    if program in ("kubectl", "oc") and not any(
        form in word for word in words for form in ("json", "yaml", "template")
    ):
        return "-t" in given  # otherwise it is a list of names
    return any(name in (program, "*") and given.issuperset(wanted) for name, wanted in PRINTING_COMMANDS)


def _selects_secret(steps: list[Step]) -> bool:
    """Whether a pipeline selects something named after a secret, or reads such a file. Listings print only names."""
    # programs and verbs that print names, sums or sizes, or make something: no contents
    listers = "ls find stat wc test [ sha1sum sha256sum shasum md5sum cksum git joelclaw".split()
    listing = {"list", "ls", "-l", "-rl", "--list", "put", "patch", "delete"}
    selects = False
    for step in steps:
        program, words = step["program"], step["words"]
        lists = program in listers or not listing.isdisjoint(words) or any(map(compiled(_NAMES).search, words))
        if program in ("kubectl", "oc"):
            lists = lists or {"exec", "token", "run", "config", "debug", "view-secret"}.isdisjoint(words)
        selects = not lists and (selects or any(map(_names_secret, _names_in(step))))
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


def _names_secret(name: str) -> bool:
    makers = ("creds", "bearer", "urandom", "random_bytes", "token_hex", "token_urlsafe")
    families = {family(name), family(name.removesuffix("s"))}
    return not families <= {"", "key", "auth", "authorization"} or name.lower().endswith(makers)


def _values_of_line(line: str) -> list[tuple[int, int]]:
    """The secrets in a line that holds nothing else, without error messages, prose and public fields."""
    text, start = _without_line_number(line)
    if not text:
        return []
    members = list(compiled(r'"([^"\\]{1,60})"[ \t]*:[ \t]*"((?:[^"\\]|\\.)*+)"').finditer(text, start))
    if members:
        return [member.span(2) for member in members if _is_secret_field(member.group(1), member.group(2))]
    field = compiled(_FIELD).match(text, start)
    if field is not None and "://" not in field.group():
        end = len(text.rstrip("\"' \t,}]"))
        return [(field.end(), end)] if _is_secret_field(field.group(1), text[field.end() : end]) else []
    words = text[start:].split()
    is_prose = len(words) >= 4 and all(word.strip(".,:;'\"()").isalpha() for word in words)
    is_secret = any(map(str.isalnum, text)) and not is_prose and not is_placeholder(text[start:])
    return [(start, len(text))] if is_secret else []


def _values_among_others(line: str, parts: str) -> list[tuple[int, int]]:
    """The secrets in a line of mixed output: a word or cell that looks like a secret and is no path."""
    text, start = _without_line_number(line)
    if not text:
        return []
    words = text[start:].split()
    if len(words) > 3 + (" * " in text) or "(" in text or "->" in text:
        parts = _CELL  # a sentence, or code
    field = compiled(_FIELD).match(text, start)
    begin = field.end() if field is not None and parts == _CELL and "://" not in text else start
    cells = [match.span() for match in compiled(parts).finditer(text, begin)] if len(words) > 1 else []
    spans = [_secret_between(text, first, end, is_cell=bool(cells)) for first, end in cells or [(start, len(text))]]
    return [span for span in spans if span is not None]


def _without_line_number(line: str) -> tuple[str, int]:
    """The line, and the offset of its content after a line number or the indentation.

    "" for a line that is too short for a secret, or an error message.
    """
    text = line.rstrip("\r ,")
    numbered = compiled(r"[ \t]*\d+(?:[→\t]|\) )").match(text)
    start = numbered.end() if numbered else len(text) - len(text.lstrip())
    fault = (
        r"(?i)^\W*(?:error|fatal|warning|usage|unable|could not|cannot|no such|permission|not logged|you are)\b"
        r"|\b(?:not found|denied|no such|failed|unauthori[sz]ed|forbidden|not set|does not exist|exit code"
        r"|expired)\b|\sh1:"
    )
    return ("", 0) if len(text) - start < 4 or compiled(fault).search(text) else (text, start)


def _secret_between(text: str, start: int, end: int, *, is_cell: bool) -> tuple[int, int] | None:
    """The secret that is the only word between start and end; a cell among several must look random."""
    word = text[start:end].strip(" \"'")
    start = text.index(word, start)
    map_of_users = r"(?:[\w.@\\-]{1,80}|[\w.-]{1,80}:[\w.-]{1,80}@[\w.-]{1,80}):(?=[^\s:/]+\Z)"  # `ann@h.test:…`
    login = compiled(map_of_users).match(word)
    if login is not None and is_described(word[login.end() :], "password"):
        return start + login.end(), start + len(word)
    is_mixed = compiled(r"[^:/]*\d[A-Za-z]+\d[^:/]*").fullmatch(word)
    path = r"[a-z]{3,}[a-z.-]*(?:/[a-z\d][a-z\d._-]*)+"  # `pod/web-7d9f8`, a branch, a file
    is_name = compiled(path).fullmatch(word) or (any(part in word.lower() for part in ANNOUNCING) and not is_mixed)
    fits = not is_cell or (is_made_up(word) and "/" not in word and word.count(":") < 2)
    is_secret = len(word.split()) == 1 and is_described(word, "password") and fits and not is_name
    return (start, start + len(word)) if is_secret else None


def _is_secret_field(key: str, value: str) -> bool:
    public = (
        "name id arn kind type version versionid created updated namespace apiversion uid resourceversion labels object"
        " annotations metadata data field tenant subscription tokentype title vault status expireson lease_id path"
        " accessorid description global local policies roles"
    )
    is_public = key.strip().lower() in (*public.split(), "accessor id", "create time", "expiry time")
    return len(value) >= 4 and not is_public and not is_placeholder(value)
