"""Finds the secrets that a command is given or prints: `sshpass -p …`, `curl -u USER:…`, `mysql -p…`, `<<< '…'`.

A table of programs and of what stands before the secret among their words, within a line.
"""

import re

from core.redaction import MARK
from core.redaction.values import Span, compiled, family, is_placeholder

_V = r"(?:\\{0,3}'([^'\n]{1,2000}?)\\{0,3}'|\\{0,3}\"([^\"\n]{1,2000}?)\\{0,3}\"|([^\s'\"|;<>`\\]{1,4096}))"
_PAIR = (
    r"(?:\\{0,3}'[^\s:%'/]{1,100}[:%]([^'\n]{1,200}?)\\{0,3}'|\\{0,3}\"[^\s:%\"/]{1,100}[:%]([^\"\n]{1,200}?)\\{0,3}\""
    r"|(?![+\[])[^\s:%\"'/]{1,100}[:%]([^\s\"'\\]{1,200}))"  # not `date -u +%Y-…`
)
_TO = r"\\{0,3}[\"']?[ \t,=]{1,4}"
_ARGS = (
    r"\\{0,3}[\"']?,?(?:[^\n|;&'\"()\\]|\\\n|\\{1,3}[\"'A-Zac-eg-mo-qsu-z]|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"){0,300}?"
    r"\\{0,3}[\"']?(?<=[\s\"'])"
)
# How the program begins, how it goes on, a word that must stand in the line, what stands before and around the secret.
_RULES = (
    (("sshpass", "rdesktop", "evil-winrm", "netexec", "nxc ", "useradd", "usermod"), "", "", rf"-p(?:{_TO})?{_V}"),
    (("mongo", "cqlsh", "twine upload", "az login", "acr login"), "(?:sh|dump|restore)?", "", rf"-p{_TO}{_V}"),
    (("redis-cli",), "", "", rf"(?:-a|--pass){_TO}{_V}"),
    (("docker", "podman", "nerdctl ", "helm ", "skopeo ", "buildah ", "oc ", "cf "), "", "login", rf"-p{_TO}{_V}"),
    (("ldap",), "(?:search|modify|add|delete|passwd|whoami)", "", rf"-w{_TO}{_V}"),
    (("mysql", "mariadb"), "-?(?:dump|admin)?", "", rf"-p(?![=\s-]|\d{{1,5}}(?:\s|$)){_V}"),
    (("7z", "unrar"), "[az]?", "", rf"-p(?![=\s-]){_V}"),
    (("sqlcmd", "bcp ", "zip ", "unzip ", "ipmitool", "mosquitto"), r"(?:_[a-z]+)?", "", rf"-P(?:{_TO})?{_V}"),
    (("xfreerdp", "wlfreerdp", "sdl-freerdp"), r"\d?", "", rf"/p:{_V}"),
    (("snmp",), "(?:[gswbu]|t(?!rapd))[a-z]*", "", rf"-X{_TO}{_V}"),
    (("snmp",), "(?:[gswbu]|t(?!rapd))[a-z]*", "", rf"-(?:A{_TO}|c{_TO}(?!(?:public|private)\b|\S{{0,99}}/)){_V}"),
    (("ldappasswd",), "", "", rf"-[sa]{_TO}{_V}"),
    (("http ", "https "), "", "", rf"(?:-a|--auth){_TO}{_PAIR}"),
    (("curl", "smbclient", "etcdctl"), "", "", rf"(?:-[uU]|--user|--proxy-user)(?:{_TO})?{_PAIR}"),
    (("az ",), "", "keyvault", rf"--value{_TO}{_V}"),
    (("aws ",), "", "SecureString", rf"--value{_TO}{_V}"),
    (("aws ",), "", "secretsmanager", rf"--secret-string{_TO}{_V}"),
    (("rclone",), "", "", rf"pass{_TO}{_V}"),
    (("tacacs-server", "radius-server", "snmp-server", "isakmp"), "", "",
     rf"(?:key|community) (?:\d )?(?=\S*[\d!#$%&*+@]|\S+ address){_V}"),
    (("kubectl ", "oc "), "", "secret", rf"--from-literal[= ][\"']?[\w.-]+={_V}"),
    (("gh ",), "", "secret", rf"(?:--body|-b){_TO}{_V}"),
    (("openssl",), "", "", rf"-(?:pass(?:in|out)? pass:|[kK][ \t]+){_V}"),
    (("rabbitmqctl", "samba-tool"), "", "",
     rf"(?:add_user|change_password|authenticate_user|user (?:create|add|setpassword))[ \t]+\S{{1,64}}[ \t]+{_V}"),
    (("plink", "pscp", "psftp"), "", "", rf"-pw[ \t]+{_V}"),
    (("lftp",), "", "", r"(?:-u|--user)[ =]?[\"']?[^\s,\"']{1,64},([^\s\"']{1,128})"),
    (("sqlplus",), "", "", r"[\w.$#]{1,64}/([^\s@\"'/]{1,128})@"),
    (("composer",), "", "", rf"(?:http-basic\.\S{{1,99}}[ \t]+|git(?:hub|lab)-(?:oauth|token)\.)\S{{1,99}}[ \t]+{_V}"),
    (("htpasswd", "mosquitto_passwd"), "", "", rf"-\w*b\w*[ \t]+(?:-\w+[ \t]+)*[^\s-]\S*[ \t]+\S+[ \t]+{_V}"),
    (("pulumi",), "", "--secret", rf"set[ \t]+(?:-\S+[ \t]+)*[^\s-]\S*[ \t]+(?:-\S+[ \t]+)*{_V}"),
    (("ConvertTo-SecureString",), "", "-AsPlainText", rf"(?:-String[ \t]+)?(?!-){_V}"),
    (("vault ",), "", "", r"(?:login|unseal)[ \t]+(?![A-Za-z]+(?:\s|$))([\w.+/-]{16,}=*)(?![^\s\"'`])"),
    (("mc ",), "", "", rf"alias set(?:[ \t]+\S+){{3}}[ \t]+{_V}"),
    (("ssh-keygen",), "", "", rf"-[NP]{_TO}{_V}"),
    (("wpa_passphrase",), "", "", rf"\S+[ \t]+{_V}"),
    (("mysqladmin",), "", "", rf"password[ \t]+{_V}"),
    (("impacket-", "secretsdump", "psexec", "wmiexec", "smbexec"), "[a-zA-Z.]*", "",
     r"[\w.-]{1,64}/[\w.$-]{1,64}:[\"']?([^\s@\"'/]{3,128})[\"']?@"),
    (("consul ", "etcdctl", "redis-cli", "nmcli "), "", "",
     r"(?:put|set|SET|modify|connect)[ \t](?:[^\s;|&]+[ \t]+){0,6}?"
     rf"[\"']?[\w./:-]*(?:passw(?:or)?d|passphrase|psk|secret|token|api_?key|PASSWORD|Password)[\"']?[ \t]+"
     rf"(?![\"']?(?:\d{{1,7}}(?:ms|[smhd])?|true|false|yes|no|on|off)(?:[\"']|\s|\Z)){_V}"),
)  # fmt: skip
# What prints the secret alone on the line below; with a second word, where the line holds that too.
_PRINTERS = re.compile(
    r"base64 (?:-d|--decode|-D)|op read |vault (?:kv get|read) -field|get-secret-value|versions access"
    r"|keyvault secret show|find-generic-password|pass show "
)
_OF_SECRETS = ("base64", "versions")
_PRINTED = re.compile(r"[^\n]{0,400}\n[ \t]*((?![/.{\[<-])(?=[^\s]*\d)(?=[^\s]*[A-Za-z])\S{6,240})[ \t]*(?:\n|\Z)")
_FED = re.compile(
    r"(?:e(?<![\w-]e)cho|p(?<![\w-]p)rintf)[ \t]([^\n|]{1,240})\|[ \t]*(?:"
    r"[^\n|;&]{0,100}?(?:--password-stdin|sudo -S|--passphrase-fd|--with-token)|(?:(?:sudo|ssh|chroot|docker|podman"
    r"|kubectl)[ \t](?:[^\n|;&]{0,80}?[ \t])?)?[\"']?(?:/[a-z/]*bin/)?([a-z]{0,4}passwd|cryptsetup|kinit)(?![\w./-]))"
)
_TAKING = ("secret", "passw", "passphrase", "login", "token", "kinit", "cryptsetup")
_VALUE = re.compile(rf"[ \t]{{0,3}}(?:\$(?='))?{_V}")
_SETTING = re.compile(rf"[A-Za-z_]\w{{0,63}}={_V}")
_ATTACHED = re.compile(r"-p(?<=\s-p)(?:'(?! )([^'\n]{1,200})'|\"(?! )([^\"\n]{1,200})\")")
_SENT = re.compile(r"assword[^\n]{0,40}[\s;}]{1,9}send (?:-- )?[\"{]([^\"{}\n$]{3,80}?)\\{1,2}[rn]")  # of expect
# What a step of a workflow hands on.
_HANDED = re.compile(
    r"::(?:set-output|save-state) name=([\w-]{1,64})::([^\s\"'`]{4,1024})|::add-mask::([^\s\"'`$]{4,1024})"
)
_ORACLE = re.compile(r"jdbc:oracle:(?:thin|oci8?):[\w.$#]{1,64}/([^\s@\"'/]{1,128})@")
# A port, or some that are mapped to each other: `8080`, `3306:3306`, `127.0.0.1:53:53/udp`.
_MAPPED = re.compile(r"[\d.-]+:(?:[\d.-]+:)*[\d.-]{1,5}(?:/|\Z)")
_AHEAD = frozenset(" \t\n/;|&($`\"'=")
_END = re.compile(r"[;|&\n]")


def find_in_commands(text: str) -> list[Span]:
    """The (start, end, kind) of each secret that a command is given or prints."""
    spans: list[Span] = []
    _by_rules(text, spans)
    for match in (*_ATTACHED.finditer(text), *_ORACLE.finditer(text), *_SENT.finditer(text)):
        _add(match, "password", spans)
    for match in _HANDED.finditer(text) if "::" in text else ():
        if match.group(3) or family(match.group(1)):
            _add(match, "secret", spans)
    for match in _FED.finditer(text) if "|" in text else ():
        _add_fed(match, spans)
    for match in _PRINTERS.finditer(text):
        line = text[max(0, text.rfind("\n", 0, match.start()) + 1, match.start() - 400) : match.end() + 400]
        if not match.group().startswith(_OF_SECRETS) or "secret" in line.partition("\n")[0]:
            printed = _PRINTED.match(text, match.end())
            if printed is not None:
                _add(printed, "secret", spans)
    for sign in re.finditer("<<<", text):
        head = text[max(0, sign.start() - 160) : sign.start()].rsplit("\n", 1)[-1].lower()
        given = _VALUE.match(text, sign.end()) if any(word in head for word in _TAKING) else None
        if given is not None:
            _add(given, "secret", spans)
    for words in re.finditer(r"secrets set ([^\n]{0,2000})", text):
        for setting in _SETTING.finditer(text, *words.span(1)):
            _add(setting, "secret", spans)
    return spans


def _by_rules(text: str, spans: list[Span]) -> None:
    for anchors, rest, needed, secret in _RULES:
        for anchor in anchors:
            at = text.find(anchor)
            rule = compiled(rf"{rest}(?:(?<= )|(?=[\s\"'\\])){_ARGS}{secret}") if at >= 0 else None
            while rule is not None and at >= 0:
                done = at + len(anchor)
                if (not at or text[at - 1] in _AHEAD or text[at - 2 : at] == "\\n") and (
                    not needed or needed in text[at : at + 400].partition("\n")[0]
                ):
                    match = rule.match(text, done)
                    if match is not None:
                        _add(match, "token" if "unseal" in secret else "password", spans)
                        done = match.end() - 1
                    else:
                        end = _END.search(text, done, done + 150)
                        done = end.start() if end is not None else done + 150
                at = text.find(anchor, done)


def _add(match: re.Match[str], kind: str, spans: list[Span]) -> None:
    group = match.lastindex or 0
    value = match.group(group)
    if group > 2 or match.re.groups == 1:
        value = value.rstrip(",])}") or value
    if _is_secret(value):
        spans.append((match.start(group), match.start(group) + len(value), kind))


def _is_secret(value: str) -> bool:
    """Whether a word in the place of a secret is one, and not an option, a variable or what a manual writes there."""
    if len(value) < 3 or value[0] in "-$[<%" or is_placeholder(value) or _MAPPED.match(value):
        return False
    return not (value.isalpha() and value.isupper())


def _add_fed(match: re.Match[str], spans: list[Span]) -> None:
    """What `echo` or `printf` hands to a command that reads a password: the last of its words."""
    given = match.group(1).rstrip()
    quote = given[-1:] if given[-1:] in ("'", '"') else ""
    value = given[:-1].rpartition(quote)[2] if quote else given.rpartition(" ")[2]
    if match.group(2) == "chpasswd":
        value = value.rpartition(":")[2]
    if value and MARK not in given and ";" not in value and "%s" not in value and _is_secret(value):
        start = match.start(1) + given.rindex(value)
        spans.append((start, start + len(value), "password"))
