"""Which names (keys, variables, flags, headers) say that their value is a secret, and of what kind."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

Span = tuple[int, int, str]
"""Where a secret stands, and what it is called in its mark."""
Name = tuple[int, int, str]
"""Where the name of a secret stands, and its family."""

LOOSE = frozenset(["password", "pw", "pass"])
"""Families whose value may be any word."""
_PASSWORDS = ("password", "passwd", "passwort", "kennwort", "passphrase", "passcode", "userpwd")
# Ends that no other word has: `compass` and `bypass` end in `pass` too.
_PASSES = frozenset(
    "requirepass userpass dbpass adminpass rootpass smtppass mailpass ftppass authpass sudopass storepass keypass dbpw"
    " userpw adminpw rootpw bindpw ldappw smtppw mypw".split()
)
# Others have patterns: `_HEX_PAT`.
_PAT_OWNERS = frozenset(
    "github gitlab git gh gl ghcr azure azdo ado devops bitbucket jira snowflake databricks airtable figma release bot"
    " ci repo deploy access personal npm docker dockerhub user asana actions workflow admin webflow".split()
)
# What is done with a password or said of it: `forgotPassword`, `resetPassword`, `invalidPassword`.
_ACTIONS = frozenset(
    "forgot forgotten reset change show hide toggle enter check verify validate compare hash generate lost invalid"
    " wrong incorrect missing require requires has is use uses need needs no without weak get read ask".split()
)
_KEY_OWNERS = frozenset(
    "api access secret private auth account master signing signature encryption encrypt crypto shared service admin"
    " anon role subscription license session hmac jwt deploy webhook app write host hmac1 storage".split()
)
_ONE_WORD_KEYS = tuple(
    f"{owner}key" for owner in "api secret private access auth master account signing encryption".split()
)
# Counts, limits, paging and vocabulary: a token in the sense of text or of a cursor.
_TEXT_TOKENS = frozenset(
    "max min per num total next page continuation eos bos pad unk sep cls mask special stop first last each text word"
    " one single output input prompt completion cached current".split()
)
_PUBLIC_KEYS = frozenset(
    "primary foreign cache sort partition public dict idempotency object row index unique lookup map routing group"
    " publishable hot short arrow registry verify dedupe merge event".split()
)
_AS_THEY_ARE = {"auth": "auth", "psk": "pass", "authorization": "authorization"}
_NAME = "abcdefghijklmnopqrstuvwxyz0123456789_.-/"
_FIELDS = ("name", "key", "variable", "field", "setting", "property", "parameter", "param", "option", "entry", "-n")
_QUALIFIERS = frozenset("prod production dev staging test live old new value plain plaintext raw b64 base64 v".split())


def words_of(name: str) -> list[str]:
    """The lower-case words of a name in any case style: `clientSecret`, `CLIENT_SECRET`, `client-secret` alike."""
    words: list[str] = []
    before = ""
    for at, char in enumerate(name):
        if not char.isalnum():
            before = ""
            continue
        if not before or (char.isupper() and (not before.isupper() or name[at + 1 : at + 2].islower())):
            words.append("")
        words[-1] += char.lower()
        before = char
    return words


def family(name: str) -> str:
    """The kind of secret that a name announces, or "" for none.

    One of `password`, `secret`, `token`, `api-key`, `private-key`, `authorization`; and `key`, `auth`, `pass`, `pw`,
    which announce one only where the value looks the part. `tokens`, `maxTokens`, `token_count`, `forgotPassword`
    announce none.
    """
    words = words_of(name) if len(name) <= 128 else []
    while len(words) > 1 and (words[-1] in _QUALIFIERS or words[-1].isdigit()):
        words.pop()
    if not words:
        return ""
    last = words[-1].rstrip("0123456789")
    before = words[-2] if len(words) > 1 else ""
    if last == "pwd" or last.endswith(_PASSWORDS):
        return "" if before in _ACTIONS else "password"
    if last in ("pass", "pw"):
        return "password" if before else last
    if last in _PASSES or (name.isupper() and (last == "sshpass" or name.endswith(("REDISCLI_AUTH", "REDIS_AUTH")))):
        return "password"
    if last in _AS_THEY_ARE:
        return _AS_THEY_ARE[last]
    if last.endswith("secret") or last in ("credential", "credentials", "secretstring"):
        return "secret"
    if (before == "secret" and last in ("string", "binary")) or words[-3:] == ["secret", "key", "base"]:
        return "secret"
    if last.endswith("token"):
        return "" if before in _TEXT_TOKENS or last == "subtoken" else "token"
    return _key_family(last, before, name)


def _key_family(last: str, before: str, name: str) -> str:
    if last == "pat" and before in _PAT_OWNERS and name.isupper():
        return "token"
    if last.endswith(_ONE_WORD_KEYS) or (last == "key" and before in _KEY_OWNERS):
        return "private-key" if last.endswith("privatekey") or before == "private" else "api-key"
    if last in ("key", "salt") and before and before not in _PUBLIC_KEYS and name.upper() == name:
        return "key"
    return ""


def names_password(name: str) -> bool:
    """Whether a name speaks of a password, be it of one or of what is done with it: `readPassword`."""
    last = words_of(name)[-1:]
    return bool(last) and (last[0] in ("pwd", "pass", "pw") or last[0].endswith(_PASSWORDS))


def is_in_field(lower: str, start: int) -> bool:
    """Whether the name that begins there stands in a field that is called after names: `name: DB_PASSWORD`."""
    head = lower[max(0, start - 64) : start].rstrip(_NAME)
    return head.rstrip(" \t\"'\\:=>").endswith(_FIELDS)


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled once; `re` is loaded where the first is needed."""
    import re

    return re.compile(pattern)


def label(kind: str) -> str:
    """What the mark says of a family."""
    return "password" if kind in LOOSE else "api-key" if kind in ("key", "query") else kind
