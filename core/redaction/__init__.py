"""Takes secrets out of text before anything is stored, logged or sent.

On the hot path: a quick look says whether a text could hold one, and only then `search` is loaded, which finds them.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.redaction.values import Span

MARK = "[redacted:"
_PASSES = 6
_SEARCH = "core.redaction.search"  # once it is loaded it looks faster than the quick look
_LEAST = 12  # characters of the shortest piece of a secret that is known by its form or its randomness
_SEPARATORS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "+_-")}
_ONE_CASE = (
    *("akia", "asia", "abia", "acca", "key-", "dapi", "rubygems_", "_v1_", "pul-", "shpat", "shpca", "shppa", "shpss"),
    *("sbp_", "sib-", "pmak-", "nrak-", "age-", "xox", "ghp_", "gl", "sk-", "sk_", "rk_", "hf_", "npm_", "hvs"),
)
"""In tokens whose letters are all of one case."""
_AROUND = 240
_LONGEST_NAME = 120
ANNOUNCING = ("pass", "pw", "secret", "token", "key", "auth", "credential")
NAME_PARTS = (*ANNOUNCING, "kennwort", "sig", "_salt", "psk", "_pat")
"""In each name that announces a secret."""
_KEYWORDS = (*NAME_PARTS, "cookie", "bearer", "basic ", "identified ", "senha", "contrase", "wachtwoord")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz ,.;()\n")  # around a keyword, no other sign: it has no value
_FORMS = tuple(
    "1//0 AKIA ASIA ABIA ACCA ABSK AIza ya29. GOCSPX- Q~ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glcbt-"
    " glptt- glft- glimt- glagent- glsoat- gloas- xox xapp- hooks.slack.com/ sk_live_ rk_live_ sk_test_ rk_test_"
    " whsec_ sk-ant- sk-or- sk-proj- sk-svcacct- sk-admin- sk-None- hf_ api_org_ npm_ pypi-Ag SG. /api/webhooks/"
    " lin_api_ lin_oauth_ lin_wh_ ntn_ hvs. hvb. hvr. dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit. gsk_ xai- pplx-"
    " r8_ tvly- figd_ dckr_ glsa_ glc_ sntry NRAK- PMAK- .atlasv1. sq0 ops_eyJ eyJ ATATT3 ATCTT3 fo1_ fm1 fm2_".split()
)
"""How tokens of known forms begin, which may have no digit at all."""
LOGINS = tuple(
    "creds|credentials|login:|login =|login is |login with|login for |login to |logins |log in |logged in |logging in "
    "|sign in |/pass|:pass|net use|ssh into|ssh to|zugang|benutzer|accès|identifiants|credencia|credenziali|acceso"
    "|inloggegevens|inloggen|toegang|anmelden|einloggen|basic auth|test account|test user|demo user|admin user"
    "|mnemonic|seed phrase|seed_phrase|seed word|recovery phrase|wallet seed|recovery code|backup code".split("|")
)
CALLS = (
    "mysqli(", "mysqli_connect(", "mysql_connect(", "getConnection(", "PDO(", ".login(", "Auth(", "basic_auth(",
    "auth=(", "auth = (", "Credential(", "Credentials(", "jwt.sign(", "jwt.verify(", "createHmac(",
)  # fmt: skip
"""How a call begins that is given a password."""
COMMANDS = (
    "TRUE\t", "FALSE\t", "freerdp", "evil-winrm", "rdesktop", "ipmitool", "snmp", "::set-output", "::save-state",
    "::add-mask", "curl", " login", '"login"', "'login'", "sshpass", "redis-cli", "mysql", "mariadb", "mongo", "ldap",
    "cqlsh", "twine", "7z", "unrar", "zip", "sqlcmd", "bcp", "http -", "https -", " -a ", "keyvault", "SecureString",
    "secretsmanager", "secret", "smbclient", "rclone", "htpasswd", "pulumi", "-pass", " -p'", ' -p"', "chpasswd",
    "--password-stdin", "sudo -S", "--with-token", "sqlplus", "jdbc:oracle:", "openssl", "useradd", "usermod",
    "rabbitmqctl", "plink", "pscp", "psftp", "lftp", "http-basic.", "github-oauth.", "gitlab-token.", "<<<",
    "-server", "isakmp", "netexec", "nxc ", "mosquitto", "kinit", "samba-tool", "alias set", "ssh-keygen", "etcdctl",
    "wpa_passphrase", "send \"", "psexec", "wmiexec", "smbexec", "impacket-", "consul kv", "nmcli", "cryptsetup",
    "--passphrase-fd", "op read ", "vault ", "versions access", "find-generic", "pass show ", "passwd ",
)  # fmt: skip
"""What a command that is given or prints a secret has in it."""

_PRINTERS = tuple(
    "base64 -|op read|op item|op run|bw get|vault|--with-decryption|get-login|whoami -t|doppler|chamber|output -raw"
    "|config get|config:get|heroku config|infisical|sops|gpg|age -d|openssl rand|berglas|kwallet|.netrc|reveal|random"
    "|creds|bearer|op inject|teller|apg |genkey|acl bootstrap".split("|")
)
"""In a command, or path, of which what is returned may be a secret, beside the names of secrets."""

# What hides a secret: colours of a terminal, signs that do not show, encoded ones, the word for "password" elsewhere.
_ESCAPES = ("\x1b[", "\\u001b[", "\\x1b[", "\\033[")
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""As ranges; Python takes those of `_HIDING` for printable, and those of the last plane."""
_SPACES = "\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
SIGNS = {
    **dict.fromkeys(_SPACES, " "), "\uff1a": ":", "\uff1d": "=",
    "%3d": "=", "%3a": ":", "%26": "&", "%22": '"', "\\u003d": "=", "\\u003a": ":", "\\u0026": "&", "\\u0022": '"',
    "&quot;": '"', "&#34;": '"', "&#x22;": '"', "&#39;": "'", "&#61;": "=", "&amp;": "&",
}  # fmt: skip
FOREIGN = (
    "mot de passe", "senha", "contraseña", "contrasena", "wachtwoord", "hasło", "пароль", "密码", "密碼", "口令", "mdp",
    "パスワード", "비밀번호", "parola", "lösenord", "adgangskode", "passord", "salasana", "heslo", "key content",
)  # fmt: skip
_ASCII = tuple(word for word in FOREIGN if word.isascii())
_HIDING = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0\uff1a\uff1d").union(
    _SPACES, map(chr, range(0xFE00, 0xFE0F))
)
_OTHERS = tuple(word for word in FOREIGN if not word.isascii())
_SEVEN_BITS = bytes(range(128))
_ENCODED = tuple(sign for sign in SIGNS if sign.isascii())


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with each secret replaced by `[redacted:KIND]`, and the kinds in order of appearance. A
    clean text comes back as the same object with an empty tuple. Idempotent: what was redacted stays as it is."""
    if _SEARCH not in sys.modules and not may_hold_secret(text):
        return text, ()
    from core.redaction.search import find_secrets

    kinds: list[str] = []
    for _ in range(_PASSES):
        spans = find_secrets(text)
        if not spans:
            break
        text = _marked(text, spans)
        kinds += [kind for _, _, kind in spans]
    return text, tuple(kinds)


def _marked(text: str, spans: Sequence[Span]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, kind in spans:
        parts += (text[done:start], MARK, kind, "]")
        done = end
    return "".join([*parts, text[done:]])


def redact_call(command: str, path: str, output: str) -> str:
    """What a call returned, without its secrets: what such a command prints, or such a file holds, is one; an error,
    other lines and the keys of JSON stay."""
    if output and prints_secret(command, path):
        from core.redaction.calls import find_printed

        output = _marked(output, find_printed(command, path, output))
    return redact(output)[0]


def prints_secret(command: str, path: str) -> bool:
    """Whether it is worth judging a command and a path together with what was returned."""
    told = f"{command}\n{path}".lower()
    return any(part in told for part in NAME_PARTS) or any(word in told for word in _PRINTERS)


def redact_value(value: object, plain: Callable[[str], str] = lambda text: redact(text)[0]) -> object:
    """The JSON value with every string redacted, dict keys too, at any depth; or what `plain` makes of the others. A
    string under a key that names a secret is replaced whole unless it is a placeholder; so are the strings of a list
    there, the `value` beside such a `name`, the word behind such an option. Of equal keys the second gets a `#2`."""
    if _SEARCH not in sys.modules and not _may_hold_in_value(value):
        return value
    from core.redaction.fields import replaced

    return replaced(value, plain)


def may_hold_secret(text: str) -> bool:
    """Whether it is worth looking closely."""
    lower = text.lower()
    if is_obfuscated(text, lower) or ("@" in text and ("://" in text or "@tcp(" in text or "@unix(" in text)):
        return True
    if any(form in text for form in _FORMS):
        return True
    for keyword in _KEYWORDS:
        at = lower.find(keyword)
        while at >= 0:
            end = at + len(keyword)
            if not _PLAIN.issuperset(lower[max(0, at - _AROUND) : end + _AROUND]):
                return True
            at = lower.find(keyword, end)
    if len(text) >= _LEAST:
        plain = text if text.isascii() else text.encode("ascii", "replace").decode()
        for word in plain.translate(_SEPARATORS).split():
            if len(word) >= _LEAST and not word.isalpha() and not word.isdigit():
                low = word.lower()
                if (low != word != word.upper() and any(map(str.isdigit, word))) or any(
                    one in low for one in _ONE_CASE
                ):
                    return True
    if any(anchor in text for anchor in COMMANDS) or any(call in text for call in CALLS):
        return True
    logs_in = any(word in lower for word in LOGINS) or any(map(may_be_login, text.split()))
    return logs_in or ("into " in lower and "values" in lower)


def is_obfuscated(text: str, lower: str) -> bool:
    """Whether anything in the text might hide a secret, cheaply; `lower` is the text in lower case."""
    if not text.isascii():
        data = text.encode("utf-8", "surrogatepass").translate(None, _SEVEN_BITS)
        signs = data.decode("utf-8", "surrogatepass")
        if not signs.isprintable() or b"\xf3\xa0" in data or not _HIDING.isdisjoint(signs):
            return True
        if "\ufe0f" in signs and any(before[-1:].isascii() for before in text.split("\ufe0f")[:-1]):
            return True  # behind an emoji it chooses its form
        if any(word in lower for word in _OTHERS):
            return True
    if any(word in lower for word in _ASCII) or ("[" in text and any(begin in lower for begin in _ESCAPES)):
        return True
    return ("%" in text or "&" in text or "\\u00" in text) and (
        any(sign in lower for sign in _ENCODED) and any(keyword in lower for keyword in ANNOUNCING)
    )


def may_be_login(word: str) -> bool:
    """Whether it may be a user with a password, as behind a host: `root:…`."""
    value = word.partition(":")[2]
    return len(value) >= 6 and value.lower() != value.upper() and not value.isalpha() and "/" not in word


def _may_hold_in_value(value: object) -> bool:
    """As `may_hold_secret`, of a JSON value: also where a key names a secret, or a word is an option."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and (one[:1] == "-" or _is_naming(one) or may_hold_secret(one)):
            return True
        if isinstance(one, dict):
            for key in one:
                if isinstance(key, str) and (_is_naming(key) or may_hold_secret(key)):
                    return True
            waiting += one.values()
        elif isinstance(one, (list, tuple)):
            waiting += one
    return False


def _is_naming(text: str) -> bool:
    """Whether a key or a label may name a secret."""
    low = text.lower().replace("tokens", "") if len(text) <= _LONGEST_NAME else ""
    return any(keyword in low for keyword in _KEYWORDS)
