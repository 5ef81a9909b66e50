"""What announces a secret in a text: the cheap check before any finder is loaded. Hot path.

A session repeats most of its words. So a text is judged by its words, and each word once: what is harmless is
remembered, with its digits and without, since numbers make most words of an output differ. Then a few signs are left to
look for in a few words.
"""

from __future__ import annotations

MIN_TOKEN = 24  # characters below which no bare token is judged: more are hashes and identifiers than secrets
_MIN_FORMED = 15  # characters of the shortest token that a provider's form shows
_MAX_WORDS = 100_000  # that are remembered

ANNOUNCING = ("pass", "pw", "secret", "token", "key", "auth", "credential")
FOREIGN = tuple(
    "senha contraseña contrasena wachtwoord hasło пароль 密码 密碼 口令 mdp パスワード 비밀번호 parola lösenord"
    " adgangskode passord salasana heslo".split()
)
"""The word for "password" in other languages."""
NAME_PARTS = (
    *ANNOUNCING, *FOREIGN, "kennwort", "sig", "_salt", "psk", "appid", "hub_pat", "lab_pat", "gh_pat", "azure_pat",
)  # fmt: skip
"""Every name that announces a secret contains one of these."""
_ORDINARY = tuple(
    "author authentic bypass compass passed passes passing passive passage keys keyboard keyword tokens tokeni design"
    " assign signal".split()
)
"""Words that contain such a part and announce nothing."""
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
BEFORE_PASSWORDS = (" / ", " -p", " -P", " -w", " -v", " /u", " //")
"""What precedes a value that looks like a password: a user's name, or an option of any program."""
PHRASES = tuple(
    "log in|logged in|logging in|sign in|admin user|recovery code|backup code|net use|op read|mc alias|sudo -s|env add"
    "|kv put|kv patch".split("|")
)
ENCODED = {
    "%3d": "=", "%3a": ":", "%26": "&", "%22": '"', "\\u003d": "=", "\\u003a": ":", "\\u0026": "&", "\\u0022": '"',
    "&quot;": '"', "&#34;": '"', "&#x22;": '"', "&#39;": "'", "&#61;": "=", "&amp;": "&", "\uff1a": ":", "\uff1d": "=",
}  # fmt: skip
"""Signs by their encoded forms."""
_PRINTABLE_HIDING = frozenset(map(chr, range(0xFE00, 0xFE10))).union(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
)
"""What hides a secret although `str.isprintable` accepts it."""
SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""White space that patterns do not take for a blank."""
_ESCAPES = ("\\u001b[", "\\x1b[", "\\033[")
_FIRST_WORDS = frozenset(phrase.partition(" ")[0] + " " for phrase in PHRASES)
_SIGNS = frozenset(
    # headers and statements, calls that take a password, commands
    "cookie|bearer|basic|identified|-----BEGIN|:AA|@tcp(|AKIA|ASIA|ABIA|ACCA"
    "|mysqli|getConnection(|PDO(|jwt.sign(|createHmac("
    "|sshpass|rdesktop|evil-winrm|netexec|nxc |useradd|usermod|mysql|mariadb|sqlcmd|bcp |zip |ipmitool|mosquitto"
    "|plink|pscp|xfreerdp|wlfreerdp|redis-cli|ldap|snmp|openssl|ssh-keygen|curl|http |https |smbclient|etcdctl|creds"
    "|wpa_passphrase|rabbitmqctl|samba-tool|isakmp|psexec|::set-output|::save-state|::add-mask|<<<|cryptsetup|kinit"
    "|assword|impacket-|securestring|keyvault|vault |sqlplus|rclone |lftp | TRUE | FALSE |login"
    .split("|")
).union(NAME_PARTS, BEFORE_PASSWORDS, _FIRST_WORDS)  # fmt: skip
"""Every text with a secret that no random token, no form, no URL and no login shows has one of these in a word, or two
of `_PHRASES`."""
_EXACT = frozenset(sign for sign in _SIGNS if sign != sign.lower())
_FOLDED = _SIGNS - _EXACT
_BEGINNINGS = frozenset(" ".join(FORMS.values()).split())
_WITHOUT_DIGITS = frozenset(" ".join(map(FORMS.__getitem__, ("gitlab-token", "slack-token", "stripe-key"))).split())
"""How tokens begin that may have no digit."""
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz ,.;()")
"""Lines of nothing but plain words and a little punctuation announce no secret."""
_harmless: set[str] = set()
"""Words of earlier texts that announce nothing, also without their digits."""


class Clues:
    """What announces a secret in a text."""

    __slots__ = ("is_hidden", "logins", "signs", "tokens")

    signs: set[str]
    """What its words contain of `_SIGNS`, of the beginnings of `FORMS` and of `PHRASES`."""
    tokens: list[str]
    """Long words that may be random."""
    logins: list[str]
    """Words that may be a user with a password: `root:…`."""
    is_hidden: bool
    """Whether colours, escapes or invisible characters may hide a secret."""

    def __init__(self, text: str) -> None:
        self.signs, self.tokens, self.logins = set(), [], []
        self.is_hidden = "\x1b[" in text or ("\\" in text and any(map(text.__contains__, _ESCAPES)))
        words = set(text.split()) - _harmless
        if not text.isascii() and (_has_invisible(words) or any(map(text.__contains__, SPACES))):
            self.is_hidden = True
        if words:
            self._judge(words)
        if self.signs:
            self._judge_surroundings(text)

    def __bool__(self) -> bool:
        return bool(self.signs or self.tokens or self.logins or self.is_hidden)

    def _judge(self, words: set[str]) -> None:
        """Find what single words announce."""
        joined = " ".join(words)
        # `str.translate` is slow if it is not ASCII
        plain = joined.encode("utf-8", "surrogatepass").translate(None, b"0123456789")
        shapes = {*plain.decode("utf-8", "surrogatepass").split()} - _harmless
        fresh = f" {' '.join(shapes)} "
        folded = fresh.lower()
        signs = {*filter(fresh.__contains__, _EXACT), *filter(folded.__contains__, _FOLDED)}
        if names := signs.intersection(NAME_PARTS):
            telling = folded.replace("authoriz", "auth z")  # without the words that announce nothing
            for word in _ORDINARY:
                telling = telling.replace(word, " ")
            if "sig=" not in telling and "signature=" not in telling:
                telling = telling.replace("sig", " ")
            signs.difference_update(name for name in names if name not in telling)
        if "://" in folded and any("@" in word.partition("://")[2] for word in words):
            signs.add("://")
        signs.update(filter(joined.__contains__, ("7z", ":5432:")))
        long = " ".join([word for word in shapes if len(word) > _MIN_FORMED])
        signs.update(filter(long.__contains__, _WITHOUT_DIGITS))
        numbered = [word for word in words if len(word) > 7 and any(map(str.isdigit, word))]
        formed = [word for word in numbered if len(word) >= _MIN_FORMED]
        if formed:
            signs.update(filter(" ".join(formed).__contains__, _BEGINNINGS))
            if any(len(word) >= 66 and "0x" in word for word in formed):
                signs.add("0x")
            self.tokens = [word for word in formed if len(word) >= MIN_TOKEN and word.lower() != word != word.upper()]
        pairs = (word for word in numbered if word.count(":") == 1 and "/" not in word)
        self.logins = [word for word in pairs if _may_be_password(word.partition(":")[2])]
        self.signs = signs
        if not self.is_hidden:
            self._remember(words | shapes)

    def _remember(self, words: set[str]) -> None:
        """Remember the words that announce nothing."""
        if len(_harmless) > _MAX_WORDS:
            _harmless.clear()
        if self.signs:
            parts = [sign.lower() for sign in self.signs]
            words = {word for word in words if not any(map(f" {word.lower()} ".__contains__, parts))}
        _harmless.update(words)
        _harmless.difference_update(self.tokens, self.logins)

    def _judge_surroundings(self, text: str) -> None:
        """Drop the signs whose surroundings show that they announce nothing, and add the phrases."""
        lower = text.lower()
        for sign in self.signs.intersection(BEFORE_PASSWORDS):
            words_behind = (word for part in text.split(sign)[1:] for word in part[:60].split(" ")[:2])
            if not any(_may_be_password(word.strip("='\"")) for word in words_behind):
                self.signs.remove(sign)
        if not self.signs.isdisjoint(_FIRST_WORDS):
            self.signs -= _FIRST_WORDS
            self.signs.update(filter(lower.__contains__, PHRASES))
        if self.signs and _are_among_plain(lower, self.signs):
            self.signs = set()
        if not self.signs.isdisjoint(NAME_PARTS) and any(map(lower.__contains__, ENCODED)):
            self.is_hidden = True


def may_hold_secret(text: str) -> bool:
    """Cheap pre-check: could this text contain a secret?"""
    return bool(Clues(text))


def _are_among_plain(lower: str, anchors: set[str]) -> bool:
    """Whether each line with an anchor is a sentence of plain words, and no setting of a netrc."""
    if not _PLAIN.issuperset("".join(anchors)):
        return False
    lines = lower.split("\n")
    return all(
        _PLAIN.issuperset(line + below) and len(line.split()) > 2 and " login " not in f" {line}"
        for line, below in zip(lines, [*lines[1:], ""], strict=True)
        if any(map(f" {line} ".__contains__, anchors))
    )


def _may_be_password(word: str) -> bool:
    return len(word) >= 6 and any(map(str.isdigit, word)) and word.lower() != word.upper()


def hides(char: str) -> bool:
    """Whether a character does not show, so that it could hide a secret."""
    return not char.isprintable() or char in _PRINTABLE_HIDING or char >= "\U000e0000"


def _has_invisible(words: set[str]) -> bool:
    """Whether characters that do not show could hide a secret in the words."""
    joined = " ".join(words)
    signs = {char for char in set(joined) if not char.isascii()} - {"\ufe0f"}
    # after an emoji, the last selects its form
    return any(map(hides, signs)) or any(before[-1:].isascii() for before in joined.split("\ufe0f")[:-1])
