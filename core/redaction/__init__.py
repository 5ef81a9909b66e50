"""Takes secrets out of text before anything is stored, logged or sent.

On the hot path: a cheap check says whether a text could contain a secret, and only then are the finders loaded:
`tokens` (known by their form or their randomness), `assignments` (`NAME = VALUE`, and the judgement of names and values
for all others), `prose` (sentences and logins), `structured` (fields, tables, manifests, JSON) and `commands`.
Every step is linear in the text, and none raises on any str.
"""

from __future__ import annotations

import sys

from core import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

    from core.redaction.tokens import Span

MARK = "[redacted:"
ANNOUNCING = ("pass", "pw", "secret", "token", "key", "auth", "credential")
NAME_PARTS = (*ANNOUNCING, "kennwort", "sig", "_salt", "psk", "_pat")
"""Every name that announces a secret contains one of these."""
KEYWORDS = (
    *NAME_PARTS,
    "cookie",
    "bearer",
    "basic ",
    "identified ",
    "mnemonic",
    "phrase",
    "recovery code",
    "backup code",
)
_FINDERS = "core.redaction.tokens"  # once loaded, the finders are faster than the pre-check
MAX_NAME_CHARS = 120
_SEPARATORS = bytes(code if chr(code).isalnum() or chr(code) in "+_-" else 32 for code in range(128)) + b" " * 128

# What marks a token, a login, a call or a command with a secret. The finders check more closely.
_TOKEN_STARTS = tuple(
    "1//0 AKIA ASIA ABIA ACCA AIza ya29. GOCSPX- ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glcbt-"
    " glptt- glft- glimt- glagent- glsoat- gloas- xox xapp- hooks.slack.com/ sk_live_ rk_live_ sk_test_ rk_test_"
    " whsec_ sk-ant- sk-or- sk-proj- sk-svcacct- sk-admin- sk-None- hf_ api_org_ npm_ pypi-Ag SG. /api/webhooks/"
    " lin_api_ lin_oauth_ lin_wh_ ntn_ hvs. hvb. hvr. gsk_ xai- pplx- r8_ tvly- figd_ dckr_ glsa_ glc_ sntry NRAK-"
    " PMAK- sq0 ops_eyJ eyJ ATATT3 ATCTT3 fo1_ fm1 fm2_ /IncomingWebhook/ hooks.zapier.com/ dapi rubygems_ _v1_ pul-"
    " shpat_ shpca_ shppa_ shpss_ sbp_ sib-".split()
)
LOGINS = tuple(
    "creds|credentials|login:|login =|login is |login with|login for |login to |logins |log in |logged in |logging in "
    "|sign in |zugang|accès|identifiants|credencia|acceso|/pass|:pass|ssh into|ssh to|basic auth|test account|test user"
    "|demo user|admin user".split("|")
)
CALLS = (
    "mysqli(", "mysqli_connect(", "mysql_connect(", "getConnection(", "PDO(", ".login(", "Auth(", "basic_auth(",
    "auth=(", "auth = (", "Credential(", "Credentials(", "jwt.sign(", "jwt.verify(", "createHmac(",
)  # fmt: skip
"""How a call that takes a password begins."""
COMMANDS = tuple(
    'TRUE\t|FALSE\t|freerdp|evil-winrm|rdesktop|ipmitool|snmp|::set-output|::save-state|::add-mask|curl| login|"login"'
    "|'login'|sshpass|redis-cli|mysql|mariadb|mongo|ldap|cqlsh|twine|7z|unrar|zip|sqlcmd|bcp|http -|https -| -a "
    "|keyvault|SecureString|secretsmanager|secret|smbclient|htpasswd|pulumi|-pass| -p'| -p\"|chpasswd|--password-stdin"
    "|sudo -S|--with-token|openssl|useradd|usermod|rabbitmqctl|plink|pscp|psftp|<<<|-server|isakmp|netexec|nxc "
    '|mosquitto|kinit|samba-tool|alias set|ssh-keygen|etcdctl|wpa_passphrase|send "|psexec|wmiexec|smbexec|impacket-'
    "|consul kv|nmcli|cryptsetup|--passphrase-fd|op read |vault |versions access|find-generic|pass show |passwd |-creds"
    "|terraform import|tofu import|net use|config set|config --|http-basic.|lftp|sqlplus|expdp|impdp".split("|")
)
"""Parts of commands that take or print a secret."""
_SPACED_ANCHORS = [[word for word in words if word.split() != [word]] for words in (COMMANDS, LOGINS, CALLS)]
_WORD_ANCHORS = tuple({word.lower() for words in (COMMANDS, LOGINS, CALLS) for word in words if word.split() == [word]})

# What hides a secret: invisible characters, encoded signs, the word for "password" in another language.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SIGNS = {
    **dict.fromkeys(("\u00a0", "\u1680", "\u202f", "\u205f", "\u3000", *map(chr, range(0x2000, 0x200B))), " "),
    "\uff1a": ":", "\uff1d": "=",
    "%3d": "=", "%3a": ":", "%26": "&", "%22": '"', "\\u003d": "=", "\\u003a": ":", "\\u0026": "&", "\\u0022": '"',
    "&quot;": '"', "&#34;": '"', "&#x22;": '"', "&#39;": "'", "&#61;": "=", "&amp;": "&",
}  # fmt: skip
_PRINTABLE_HIDING = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0").union(
    _SIGNS, map(chr, range(0xFE00, 0xFE0F))
)
"""What hides a secret although `str.isprintable` accepts it."""
FOREIGN = (
    "mot de passe", "senha", "contraseña", "contrasena", "wachtwoord", "hasło", "пароль", "密码", "密碼", "口令", "mdp",
    "パスワード", "비밀번호", "parola", "lösenord", "adgangskode", "passord", "salasana", "heslo", "key content",
)  # fmt: skip

_patterns: dict[str, re.Pattern[str]] = {}
_harmless_words: set[str] = set()
"""Words of earlier texts without a token or an anchor: a session repeats most of its words."""


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with each secret replaced by `[redacted:KIND]`, and the kinds in order of appearance.

    A clean text comes back as the same object with an empty tuple. Idempotent.
    """
    if _FINDERS not in sys.modules and not may_hold_secret(text):
        return text, ()
    kinds: list[str] = []
    for _ in range(6):  # taking a secret out may show another
        spans = find_secrets(text)
        if not spans:
            break
        text = _replace(text, spans)
        kinds += [kind for _, _, kind in spans]
    return text, tuple(kinds)


def redact_call(command: str, path: str, output: str) -> str:
    """The output of a call without its secrets: also those known by the command, or by the file, that printed them."""
    if output and prints_secret(command, path):
        from core.redaction.commands import find_printed

        output = _replace(output, find_printed(command, path, output))
    return redact(output)[0]


def prints_secret(command: str, path: str) -> bool:
    """Cheap pre-check: could this command, or this file, have printed a secret?"""
    printing = (
        "base64 -|op read|op item|op run|bw get|vault|--with-decryption|get-login|whoami -t|doppler|chamber|output -raw"
        "|config get|config:get|heroku config|infisical|sops|gpg|age -d|openssl rand|berglas|kwallet|.netrc|reveal"
        "|random|creds|bearer|op inject|teller|apg |genkey|acl bootstrap"
    )
    call = f"{command}\n{path}".lower()
    return any(part in call for part in NAME_PARTS) or any(word in call for word in printing.split("|"))


def redact_value(value: object, plain: Callable[[str], str] = lambda text: redact(text)[0]) -> object:
    """A JSON value with every string redacted by `plain`, keys too, at any depth.

    A string under a key that names a secret is replaced whole unless it is a placeholder; likewise the strings of a
    list there, the `value` beside such a `name`, and the word after such an option. If two keys become equal, the
    second gets a `#2`.
    """
    if _FINDERS not in sys.modules and not _may_hold_in_value(value):
        return value
    from core.redaction.structured import redact_fields

    return redact_fields(value, plain)


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled once. `re` is loaded when the first is needed."""
    known = _patterns.get(pattern)  # the cache of `re.compile` is five times slower
    if known is None:
        import re

        known = _patterns[pattern] = re.compile(pattern)
    return known


def word_sets(topics: dict[str, str]) -> dict[str, frozenset[str]]:
    """The words of each topic, as a set."""
    return {topic: frozenset(words.split()) for topic, words in topics.items()}


def may_hold_secret(text: str) -> bool:
    """Cheap pre-check: could this text contain a secret?"""
    lower = text.lower()
    if is_obfuscated(text, lower) or ("@" in text and ("://" in text or "@tcp(" in text or "@unix(" in text)):
        return True
    if any(start in text for start in _TOKEN_STARTS):
        return True
    plain_chars = frozenset("abcdefghijklmnopqrstuvwxyz ,.;()\n")  # a keyword among nothing else has no value
    for keyword in KEYWORDS:
        at = lower.find(keyword)
        while at >= 0:
            end = at + len(keyword)
            if not plain_chars.issuperset(lower[max(0, at - 240) : end + 240]):
                return True
            at = lower.find(keyword, end)
    if len(text) >= 12:
        plain = text.encode("ascii", "replace").translate(_SEPARATORS).decode("ascii")
        if any(map(_may_be_token, plain.split())):
            return True
    if any(anchor in text for anchor in COMMANDS) or any(call in text for call in CALLS):
        return True
    return any(word in lower for word in LOGINS) or any(map(may_be_login, text.split()))


def is_obfuscated(text: str, lower: str) -> bool:
    """Cheap pre-check: could anything in the text hide a secret? `lower` is the text in lower case."""
    if not text.isascii():
        data = text.encode("utf-8", "surrogatepass").translate(None, bytes(range(128)))
        signs = data.decode("utf-8", "surrogatepass")
        if not signs.isprintable() or b"\xf3\xa0" in data or not _PRINTABLE_HIDING.isdisjoint(signs):
            return True
        if "\ufe0f" in signs and any(before[-1:].isascii() for before in text.split("\ufe0f")[:-1]):
            return True  # after an emoji, it selects its form
    escapes = ("\x1b[", "\\u001b[", "\\x1b[", "\\033[")
    if any(word in lower for word in FOREIGN) or ("[" in text and any(begin in lower for begin in escapes)):
        return True
    return ("%" in text or "&" in text or "\\u00" in text) and (
        any(sign in lower for sign in _SIGNS if sign.isascii()) and any(keyword in lower for keyword in ANNOUNCING)
    )


def may_be_login(word: str) -> bool:
    """Whether a word may be a user with a password: `root:…`."""
    value = word.partition(":")[2]
    is_mixed = value.lower() != value.upper() and not value.isalpha()
    return len(value) >= 6 and is_mixed and "/" not in word and ":" not in value


def _may_be_token(word: str) -> bool:
    if len(word) < 12 or word.isalpha() or word.isdigit():
        return False
    low = word.lower()
    is_mixed = low != word != word.upper() and any(map(str.isdigit, word))
    return is_mixed or "sk-" in low or (low[:2] == "0x" and len(low) == 66)


def _may_hold_in_value(value: object) -> bool:
    """As `may_hold_secret`, for a JSON value: also if a short text may be the name of a secret, or an option."""
    texts: list[str] = []
    keys: list[str] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            keys += [key for key in item if key.isalpha()]  # its value is another text, so it holds no secret
            waiting += [*(key for key in item if not key.isalpha()), *item.values()]
        elif isinstance(item, (list, tuple)):
            waiting += item
        elif isinstance(item, str):
            texts.append(item)
    names = "\n".join(text for text in keys + texts if len(text) <= MAX_NAME_CHARS).lower().replace("tokens", "")
    if any(text[:1] == "-" for text in texts) or any(map(names.__contains__, KEYWORDS)):
        return True
    # A look at all texts together costs a fifth; it may find something that no single text has.
    return may_hold_secret("\n".join(texts)) and any(map(may_hold_secret, texts))


def find_secrets(text: str) -> list[Span]:
    """The (start, end, kind) of each secret, in order and disjoint."""
    if len(_harmless_words) > 100_000:
        _harmless_words.clear()
    spans = _find_obfuscated(text) if is_obfuscated(text, text.lower()) else _find_plain(text)
    return _merged(spans) if spans else spans


def _find_plain(text: str) -> list[Span]:
    from core.redaction import prose, tokens
    from core.redaction.assignments import find_assigned, find_names

    lower = text.lower()
    if len(lower) != len(text):  # a letter that becomes two in lower case would shift the positions after it
        lower = "".join(char.lower() if char.isascii() else char for char in text)
    if MARK in text:  # the kind in a mark is no name
        for kind in "password secret token api-key private-key authorization url-password cookie".split():
            lower = lower.replace(f"{MARK}{kind}]", MARK + "." * len(kind) + "]")
    words = set(text.split()) - _harmless_words
    fresh = " ".join(words)
    is_anchored = any(map(fresh.lower().__contains__, _WORD_ANCHORS))
    commands, logins, calls = (COMMANDS, LOGINS, CALLS) if is_anchored else _SPACED_ANCHORS
    spans = tokens.find_formed(text, lower, fresh)
    if any(map(text.__contains__, commands)):
        from core.redaction.commands import find_in_commands

        spans += find_in_commands(text)
    assigned, others = find_names(text, lower)
    if assigned:
        spans += find_assigned(text, assigned)
    spans += prose.find_in_prose(text, lower, others, words, has_login=any(map(lower.__contains__, logins)))
    if assigned or others or any(map(text.__contains__, calls)) or "identified " in lower or "Secret" in text:
        from core.redaction.structured import find_structured

        spans += find_structured(text, lower, sorted(assigned + others))
    has_random = tokens.has_random(words, find_secrets)
    if has_random:
        spans += tokens.find_random(text, find_secrets)
    if not (is_anchored or spans or has_random):
        _harmless_words.update(
            word for word in words if len(word) <= 160 and (":" not in word or not may_be_login(word))
        )
    return spans


def _find_obfuscated(text: str) -> list[Span]:
    """The secrets of a copy of the text without colours and invisible characters, and with all signs decoded."""
    from bisect import bisect_right
    from re import escape

    firsts = escape("".join({word[0] for word in ("\x1b", *_SIGNS, *FOREIGN)}))
    colour = r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033)\[[0-9;:?]{0,40}[A-Za-z]"
    verbs = r"(?:[ \t]{0,2}(?:est|es|é|è|is|это|jest|je|er|är|este)(?=[ \t:])|[ \t]{0,2}(?:是|为|為|は))?"
    pattern = compiled(
        f"(?i)(?=[{firsts}{_INVISIBLE}])"
        f"(?:({colour})|([{_INVISIBLE}]+)|({'|'.join(map(escape, _SIGNS))})"
        f"|(?<![^\\W\\d_])(?:{'|'.join(FOREIGN)})(?![a-z])({verbs}))"
    )
    decoded = ""
    copied, places = [0], [0]  # the starts of the copy's pieces, in the copy and in the text
    for match in pattern.finditer(text):
        is_colour, hidden, sign, link = match.groups()
        decoded += text[places[-1] : match.start()]
        copied.append(len(decoded))
        decoded += (
            " "
            if is_colour
            else ""
            if hidden
            else _SIGNS[sign.lower()]
            if sign
            else "password is "
            if link
            else "password"
        )
        copied.append(len(decoded))
        places += match.span()
    decoded += text[places[-1] :]
    places.append(len(text))
    spans: list[Span] = []
    for first, last, kind in _find_plain(decoded):
        at, to = bisect_right(copied, first) - 1, bisect_right(copied, last - 1) - 1
        start = min(places[at] + first - copied[at], places[at + 1])
        spans.append((start, min(places[to] + last - copied[to], places[to + 1]), kind))
    return spans


def _merged(spans: list[Span]) -> list[Span]:
    """Disjoint spans in order. Overlapping ones become their union, with the kind that was found first."""
    merged: list[tuple[int, int, str, int]] = []
    covered = 0
    for start, rank, end, kind in sorted([(start, rank, end, kind) for rank, (start, end, kind) in enumerate(spans)]):
        if start < covered:
            first, last, known, best = merged[-1]
            covered = max(last, end)
            merged[-1] = (first, covered, known if best < rank else kind, min(best, rank))
        else:
            merged.append((start, end, kind, rank))
            covered = end
    return [(start, end, kind) for start, end, kind, _ in merged]


def _replace(text: str, spans: Sequence[Span]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, kind in spans:
        parts += (text[done:start], MARK, kind, "]")
        done = end
    return "".join([*parts, text[done:]])
