"""Takes secrets out of text before anything is stored, logged or sent.

On the hot path: `Clues` is a cheap check for what announces a secret, and only if it finds something are the finders
loaded: `tokens` (known by their form or their randomness), `assignments` (`NAME = VALUE`, and the judgement of names
and values for all others), `prose` (sentences and logins), `structured` (fields, tables, manifests, JSON) and
`commands`. Every step is linear in the text, and none raises on any str.
"""

from __future__ import annotations

from itertools import pairwise

from core import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Sequence

Span = tuple[int, int, str]
"""The start, end and kind of a secret."""
MARK = "[redacted:"
MAX_NAME_CHARS = 120
MIN_TOKEN = 24  # characters below which no bare token is judged: more are hashes and identifiers than secrets
_MAX_WORDS = 100_000  # that are remembered

ANNOUNCING = ("pass", "pw", "secret", "token", "key", "auth", "credential")
FOREIGN = tuple(
    "senha contraseña contrasena wachtwoord hasło пароль 密码 密碼 口令 mdp パスワード 비밀번호 parola lösenord"
    " adgangskode passord salasana heslo".split()
)
"""The word for "password" in other languages."""
NAME_PARTS = (*ANNOUNCING, *FOREIGN, "kennwort", "sig", "_salt", "psk", "_pat")
"""Every name that announces a secret contains one of these."""
FORMS = {
    "aws-access-key": "AKIA ASIA ABIA ACCA", "google-api-key": "AIza", "google-oauth": "ya29. GOCSPX- 1//0",
    "github-token": "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
    "gitlab-token": "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- gloas-",
    "slack-token": "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxc- xoxd- xapp-", "slack-webhook": "hooks.slack.com/",
    "stripe-key": "sk_live_ rk_live_ sk_test_ rk_test_ whsec_", "anthropic-key": "sk-ant-", "openai-key": "sk-",
    "sendgrid-key": "SG.", "twilio-key": "SK", "api-key": "key-", "discord-webhook": "/api/webhooks/",
    "teams-webhook": "/IncomingWebhook/", "zapier-webhook": "hooks.zapier.com/", "databricks-token": "dapi",
    "token": "hf_ api_org_ npm_ rubygems_ dop_v1_ doo_v1_ dor_v1_ shpat_ shpca_ shppa_ shpss_ lin_api_ lin_oauth_"
    " lin_wh_ secret_ ntn_ sbp_ gsk_ xai- pplx- r8_ glsa_ NRAK- AGE-SECRET-KEY-1 pul- hvs. hvb. hvr. pypi-Ag figd_"
    " tvly- dckr_pat_ dckr_oat_ tskey- sq0atp- sq0csp- sb_secret_ ATATT3 ATCTT3 sntrys_ sntryu_ PMAK- xkeysib-"
    " xsmtpsib- ops_eyJ fo1_ fm1r_ fm1a_ fm2_ glc_",
    "password-hash": "$2a$ $2b$ $2y$ $apr1$ $1$ $5$ $6$ $y$", "jwt": "eyJ",
}  # fmt: skip
"""How the tokens of providers begin."""
LOGINS = tuple("creds|credentials|login|log in|logged in|logging in|sign in|admin user| / | pass | pw ".split("|"))
"""What announces a user's name with a password."""
_ESCAPES = ("\x1b[", "\\u001b[", "\\x1b[", "\\033[")
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""The class of characters that hide a secret."""
_ENCODED = {
    "%3d": "=", "%3a": ":", "%26": "&", "%22": '"', "\\u003d": "=", "\\u003a": ":", "\\u0026": "&", "\\u0022": '"',
    "&quot;": '"', "&#34;": '"', "&#x22;": '"', "&#39;": "'", "&#61;": "=", "&amp;": "&", "\uff1a": ":", "\uff1d": "=",
}  # fmt: skip
"""Signs that stand for others."""
_PRINTABLE_HIDING = frozenset(map(chr, range(0xFE00, 0xFE0F))).union(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
)
"""What hides a secret although `str.isprintable` accepts it."""
_ANCHORS = frozenset(
    # headers and statements, calls that take a password, commands
    "cookie|bearer|basic|identified|-----BEGIN|:AA|@tcp(|:5432:"
    "|mysqli|getConnection(|PDO(|jwt.sign(|createHmac("
    "|sshpass|rdesktop|evil-winrm|netexec|nxc |useradd|usermod|mysql|mariadb|7z|sqlcmd|bcp |zip |ipmitool|mosquitto"
    "|plink|pscp|xfreerdp|wlfreerdp|redis-cli|ldap|snmp|openssl|ssh-keygen|curl|http |https |smbclient|etcdctl|creds"
    "|wpa_passphrase|rabbitmqctl|samba-tool|isakmp|psexec|::set-output|::save-state|::add-mask|<<<|cryptsetup|kinit"
    "|assword|impacket-|securestring|keyvault|vault |sqlplus|rclone | TRUE | FALSE "
    .split("|")
).union(NAME_PARTS, " ".join(FORMS.values()).split(), _ESCAPES, _ENCODED, ["creds", "login"])  # fmt: skip
"""Every text with a secret that no random token, no URL and no login shows contains one of these, or of `_PHRASES`."""
_NO_DIGITS = dict.fromkeys(map(ord, "0123456789"))
_BARE = {a: bare.lower() for a in _ANCHORS if (bare := a.translate(_NO_DIGITS)) != a}
"""The anchors with digits, and each without them, in lower case."""
_EXACT = frozenset(anchor for anchor in _ANCHORS.difference(_BARE) if anchor != anchor.lower())
_FOLDED = _ANCHORS.difference(_BARE, _EXACT)
_PHRASES = tuple(
    "log in|logged in|logging in|sign in|admin user|recovery code|backup code|net use|op read |mc alias|sudo -s|env add"
    .split("|")
)  # fmt: skip
BEFORE_PASSWORDS = (" / ", " -p", " -P", " -w", " -v", " /u", " //")
"""What precedes a password that looks like one: a user's name, or an option of any program."""
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz ,.;()")
"""Lines of nothing but plain words and a little punctuation announce no secret."""
PRINTING = (
    "op read|op item get|op env|op inject|bw get|vault kv get|vault read|vault -field|keyring get|ansible-vault view"
    "|ansible-vault decrypt|aws-vault env|chamber env|chamber read|chamber export|doppler env|aws --with-decryption"
    "|aws configure get|age -d|sops -d|sops --decrypt|az keys list|kubectl get secret|kubectl get secrets|oc get secret"
    "|terraform output -raw|tofu output -raw|pulumi config get|heroku config|gpg -d|gpg --decrypt|git credential fill"
    "|openssl rand|credstash get|secret-tool lookup|wg genkey|pwgen|apg|nmcli -s -g|teller env| reveal| config:get"
    "| acl bootstrap"
).split("|")
"""A program that prints a secret, nothing for any, and the words of its command."""
_PRINTERS = (
    *map(str.split, PRINTING),
    *map(str.split, "base64 -|.netrc|random|creds|bearer|vault|chamber|doppler|config|berglas|whoami -t".split("|")),
)
"""The words of a command that prints a secret if no name of a secret is in it."""
_patterns: dict[str, re.Pattern[str]] = {}
_harmless_words: set[str] = set()
"""Words of earlier texts that announce nothing: a session repeats most of its words."""
_clean_names = {""}
"""Short texts without a secret, such as the names in events, which a process checks several times."""


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with each secret replaced by `[redacted:KIND]`, and the kinds in order of appearance.

    A clean text comes back as the same object with an empty tuple. Idempotent.
    """
    if text in _clean_names:
        return text, ()
    kinds: list[str] = []
    for _ in range(6):  # taking a secret out may show another
        spans = find_secrets(text)
        if not spans:
            break
        text = _replace(text, spans)
        kinds += [kind for _, _, kind in spans]
    if not kinds and len(text) < MAX_NAME_CHARS and len(_clean_names) < 1_000:
        _clean_names.add(text)
    return text, tuple(kinds)


def redact_call(command: str, path: str, output: str) -> str:
    """The output of a call without its secrets: also those known by the command, or by the file, that printed them."""
    if output and prints_secret(command, path):
        from core.redaction.commands import find_printed

        output = _replace(output, find_printed(command, path, output))
    return redact(output)[0]


def prints_secret(command: str, path: str) -> bool:
    """Cheap pre-check: could this command, or this file, have printed a secret?"""
    call = f"{command}\n{path}".lower()
    return any(map(call.__contains__, NAME_PARTS)) or any(all(map(call.__contains__, words)) for words in _PRINTERS)


def redact_value(value: object, plain: Callable[[str], str] = lambda text: redact(text)[0]) -> object:
    """A JSON value with every string redacted by `plain`, keys too, at any depth.

    A string under a key that names a secret is replaced whole unless it is a placeholder; likewise the strings of a
    list there, the `value` beside such a `name`, and the word after such an option. If two keys become equal, the
    second gets a `#2`.
    """
    texts = _texts_of(value)
    names = "\n".join(text for text in texts if len(text) <= MAX_NAME_CHARS).lower().replace("tokens", "")
    may_name = any(text[:1] == "-" for text in texts) or any(map(names.__contains__, NAME_PARTS))
    if not may_name and not may_hold_secret("\n".join(texts)):
        return value
    from core.redaction.structured import redact_fields

    return redact_fields(value, plain)


def _texts_of(value: object) -> list[str]:
    """All strings in a JSON value, keys too."""
    items = [value]
    for item in items:  # which grows, so that no depth is too much
        if isinstance(item, dict):
            items += (*item, *item.values())
        elif isinstance(item, (list, tuple)):
            items += item
    return [item for item in items if isinstance(item, str)]


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled once. `re` is loaded when the first is needed."""
    known = _patterns.get(pattern)  # the cache of `re.compile` is five times slower
    if known is None:
        import re

        known = _patterns[pattern] = re.compile(pattern)
    return known


def places_of(text: str, parts: Iterable[str]) -> list[int]:
    """Where one of the parts begins in the text."""
    places: list[int] = []
    for part in parts:
        at = text.find(part)
        while at >= 0:
            places.append(at)
            at = text.find(part, at + len(part))
    return places


class Clues:
    """What announces a secret in a text."""

    __slots__ = ("anchors", "is_hidden", "logins", "tokens")

    def __init__(self, text: str) -> None:
        words = set(text.split()) - _harmless_words
        fresh, lower = f" {' '.join(words)} ", text.lower()
        low = fresh.lower()
        # Numbers make most words of an output differ.
        shapes = f" {' '.join({*fresh.translate(_NO_DIGITS).split()})} "
        folded = shapes.lower()
        anchors = {*filter(shapes.__contains__, _EXACT), *filter(folded.__contains__, _FOLDED)}
        anchors.update(a for a, bare in _BARE.items() if bare in folded and (a in fresh or a in low))
        if "token" in anchors and "token" not in low.replace("tokens", ""):
            anchors.remove("token")
        numbered = [word for word in words if len(word) > 7 and any(map(str.isdigit, word))]
        anchors.update(filter(lower.__contains__, _PHRASES))
        if "://" in fresh and any("@" in word.partition("://")[2] for word in words):
            anchors.add("://")
        if any(len(word) >= 66 and "0x" in word for word in numbered):
            anchors.add("0x")
        for sign in filter(text.__contains__, BEFORE_PASSWORDS):
            words_behind = (word for part in text.split(sign)[1:] for word in part[:60].split(" ")[:2])
            if any(_may_be_password(word.strip("='\"")) for word in words_behind):
                anchors.add(sign)
        _remember(words.difference(numbered), anchors)
        self.tokens = [word for word in numbered if len(word) >= MIN_TOKEN and word.lower() != word != word.upper()]
        self.logins = {word for word in numbered if ":" in word[:-6] and _may_be_login(word)}
        self.anchors = set() if _are_among_plain(lower, anchors) else anchors
        announces = not self.anchors.isdisjoint(NAME_PARTS)
        self.is_hidden = (
            not self.anchors.isdisjoint(_ESCAPES)
            or (announces and not self.anchors.isdisjoint(_ENCODED))
            or (not text.isascii() and _has_invisible(text))
        )

    def __bool__(self) -> bool:
        return bool(self.anchors or self.tokens or self.logins or self.is_hidden)


def may_hold_secret(text: str) -> bool:
    """Cheap pre-check: could this text contain a secret?"""
    return bool(Clues(text))


def _remember(words: set[str], anchors: set[str]) -> None:
    """Remember the words, which have no digits, but for those that contain an anchor."""
    if len(_harmless_words) > _MAX_WORDS:
        _harmless_words.clear()
    parts = [anchor.lower() for anchor in anchors]
    _harmless_words.update(word for word in words if not any(map(f" {word.lower()} ".__contains__, parts)))


def _are_among_plain(lower: str, anchors: set[str]) -> bool:
    """Whether each line with an anchor is a sentence of plain words, and no setting of a netrc."""
    if not _PLAIN.issuperset("".join(anchors)):
        return False
    lines = [*lower.split("\n"), ""]
    return all(
        _PLAIN.issuperset(line + below) and len(line.split()) > 2 and " login " not in f" {line}"
        for line, below in pairwise(lines)
        if any(map(f" {line} ".__contains__, anchors))
    )


def _may_be_login(word: str) -> bool:
    """Whether a word may be a user with a password: `root:…`."""
    value = word.partition(":")[2]
    return _may_be_password(value) and "/" not in word and ":" not in value


def _may_be_password(word: str) -> bool:
    return len(word) >= 6 and any(map(str.isdigit, word)) and word.lower() != word.upper()


def find_secrets(text: str) -> list[Span]:
    """The (start, end, kind) of each secret, in order and disjoint."""
    clues = Clues(text)
    if not clues:
        return []
    return _merged(_find_obfuscated(text) if clues.is_hidden else _find_plain(text, clues))


def _find_plain(text: str, clues: Clues) -> list[Span]:
    from core.redaction import assignments, commands, prose, structured, tokens

    lower = text.lower()
    if len(lower) != len(text):  # a letter that becomes two in lower case would shift the positions after it
        lower = "".join(char.lower() if char.isascii() else char for char in text)
    if MARK in text:  # the kind in a mark is no name
        lower = compiled(r"(?<=\[redacted:)[a-z0-9-]+").sub(lambda kind: "." * len(kind.group()), lower)
    assigned, others = assignments.find_names(text, lower, clues.anchors)
    return [
        *tokens.find_formed(text, clues),
        *commands.find_in_commands(text, lower, clues.anchors),
        *assignments.find_assigned(text, assigned),
        *prose.find_in_prose(text, lower, others, clues),
        *structured.find_structured(text, lower, sorted(assigned + others)),
        *(tokens.find_random(text, find_secrets) if clues.tokens else ()),
    ]


def _has_invisible(text: str) -> bool:
    """Whether characters that do not show could hide a secret."""
    signs = "".join(char for char in set(text) if not char.isascii())
    if not signs.isprintable() or not _PRINTABLE_HIDING.isdisjoint(signs) or any(map("\U000e0000".__le__, signs)):
        return True
    # after an emoji, it selects its form
    return "\ufe0f" in signs and any(before[-1:].isascii() for before in text.split("\ufe0f")[:-1])


def _find_obfuscated(text: str) -> list[Span]:
    """The secrets of a copy of the text without colours and invisible characters, and with all signs decoded."""
    from re import escape

    colour = r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033)\[[0-9;:?]{0,40}[A-Za-z]"
    space = "[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
    pattern = compiled(f"(?i)({colour}|{space})|[{_INVISIBLE}]+|({'|'.join(map(escape, _ENCODED))})")
    parts: list[str] = []
    places: list[int] = []  # of each character of the copy in the text
    done = 0
    for match in pattern.finditer(text):
        is_blank, sign = match.groups()
        instead = " " if is_blank else _ENCODED[sign.lower()] if sign else ""
        parts += (text[done : match.start()], instead)
        places += (*range(done, match.start()), *[match.start()] * len(instead))
        done = match.end()
    places += range(done, len(text) + 1)
    decoded = "".join([*parts, text[done:]])
    spans = _find_plain(decoded, Clues(decoded))
    return [(places[first], max(places[first] + 1, places[last]), kind) for first, last, kind in spans]


def _merged(spans: list[Span]) -> list[Span]:
    """Disjoint spans in order. Overlapping ones become their union, with the kind of the first."""
    merged: list[Span] = []
    for start, end, kind in sorted(spans, key=lambda span: span[0]):
        if merged and start < merged[-1][1]:
            first, last, known = merged[-1]
            merged[-1] = (first, max(last, end), known)
        else:
            merged.append((start, end, kind))
    return merged


def _replace(text: str, spans: Sequence[Span]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, kind in spans:
        parts += (text[done:start], MARK, kind, "]")
        done = end
    return "".join([*parts, text[done:]])
