"""Judges names: whether a key, a variable, a flag or a header announces a secret, and what kind."""

from __future__ import annotations

from core.redaction import word_sets
from core.redaction.rules import NAME_PARTS

Name = tuple[int, int, str]
"""The start, end and family of a name (see `family`)."""

LOOSE = frozenset(["password", "pw", "pass"])
"""Families whose value may be any word."""
NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_WORDS = word_sets({
    # Names of passwords that end in `pass` or `pw`; other words do too, like `compass` and `bypass`.
    "passwords": "requirepass userpass dbpass adminpass rootpass smtppass mailpass ftppass authpass sudopass storepass"
    " keypass dbpw masterauth userpw adminpw rootpw bindpw ldappw smtppw mypw",
    # Verbs and adjectives before `password`: `forgotPassword`, `resetPassword`, `invalidPassword`.
    "actions": "forgot forgotten reset change show hide toggle enter check verify validate compare hash generate lost"
    " invalid wrong incorrect missing require requires has is use uses need needs no without weak get read ask",
    "key owners": "api access secret private auth account master signing signature encryption decryption encrypt crypto"
    " shared service admin anon role subscription license activation recovery session hmac jwt deploy webhook app write"
    " host storage imported",
    # Before `token`: counts, limits, paging and vocabulary.
    "text tokens": "max min per num total next page continuation eos bos pad unk sep cls mask special stop first last"
    " each text word single output one input prompt completion cached current",
    "public keys": "primary foreign cache sort partition public dict idempotency object row index unique lookup map"
    " routing group publishable hot short arrow registry verify dedupe merge event",
    "qualifiers": "prod production dev staging test live old new value plain plaintext raw b64 base64 v",
})  # fmt: skip


def words_of(name: str) -> list[str]:
    """The lower-case words of a name in any case style: `clientSecret`, `CLIENT_SECRET`, `client-secret`."""
    words: list[str] = []
    before = ""
    for at, char in enumerate(name):
        if not char.isalnum():
            before = "" if char.isascii() else before  # an invisible character does not end a word
            continue
        if not before or (char.isupper() and (not before.isupper() or name[at + 1 : at + 2].islower())):
            words.append("")
        words[-1] += char.lower()
        before = char
    return words


def family(name: str) -> str:
    """The kind of secret that a name announces, or "", as for `tokens`, `maxTokens`, `forgotPassword`.

    `key`, `auth`, `pass` and `pw` announce a secret only if the value looks like one.
    """
    words = words_of(name) if len(name) <= 128 else []
    while len(words) > 1 and (words[-1] in _WORDS["qualifiers"] or words[-1].isdigit()):
        words.pop()
    if not words:
        return ""
    last = words[-1].rstrip("0123456789")
    before = words[-2] if len(words) > 1 else ""
    if _ends_as_password(last):
        return "" if before in _WORDS["actions"] else "password"
    if last in ("pass", "pw"):
        return "password" if before else last
    is_variable = name.isupper() and (last == "sshpass" or name.endswith(("REDISCLI_AUTH", "REDIS_AUTH")))
    if last.endswith(tuple(_WORDS["passwords"])) or is_variable:
        return "password"
    if last in ("auth", "authorization", "psk"):
        return "pw" if last == "psk" else last
    if last.endswith("secret") or last in ("credential", "credentials", "secretstring"):
        return "" if before == "existing" else "secret"
    if (before == "secret" and last in ("string", "binary")) or words[-3:] == ["secret", "key", "base"]:
        return "secret"
    if last.endswith("token"):
        return "" if before in _WORDS["text tokens"] or last == "subtoken" else "token"
    if last == "pat" and before in ("github", "gitlab", "gh", "azure", "access", "personal") and name.isupper():
        return "token"
    keys = ("apikey", "secretkey", "privatekey", "accesskey", "authkey", "masterkey", "accountkey", "signingkey")
    if last.endswith((*keys, "encryptionkey")) or (last == "key" and before in _WORDS["key owners"]):
        return "private-key" if last.endswith("privatekey") or before == "private" else "api-key"
    is_constant = last in ("key", "salt") and before and name.upper() == name
    return "key" if is_constant and before not in _WORDS["public keys"] else ""


def names_password(name: str) -> bool:
    """Whether a name is about a password, even if it only does something with it: `readPassword`."""
    last = words_of(name)[-1:]
    return bool(last) and (last[0] in ("pass", "pw") or _ends_as_password(last[0]))


def _ends_as_password(word: str) -> bool:
    passwords = ("password", "passwd", "passwort", "kennwort", "passphrase", "passcode", "userpwd")
    return word == "pwd" or word.endswith(passwords)


def find_names(text: str, lower: str, anchors: set[str]) -> tuple[list[Name], list[Name]]:
    """The names of secrets that an assignment may follow, and those that a sentence or a field may follow.

    At most 48 characters of a name on each side of a keyword are read. `anchors`: the keywords in the text.
    """
    assigned: dict[int, Name] = {}
    others: list[Name] = []
    families: dict[str, str] = {}
    for keyword in anchors.intersection(NAME_PARTS):
        end = 0
        at = lower.find(keyword)
        while at >= 0:
            end = at + len(keyword)
            ahead = text[end : end + 48]
            end += len(ahead) - len(ahead.lstrip(NAME_CHARS))
            sign = text[end : end + 48].lstrip(" \t\"'`\\]?")[:1]
            if end not in assigned:
                head = text[max(0, at - 48) : at]
                start = at - len(head) + len(head.rstrip(NAME_CHARS))
                if text[start - 1 : start] == "\\" and text.startswith(("n--", "r--", "t--"), start):
                    start += 1
                name = text[start:end]
                if name not in families:
                    families[name] = family(name.strip("-."))
                kind = _family_in_context(text, start, end, families[name])
                if kind:
                    is_option = name[:2] == "--" or (kind == "password" and name[1:3].lower() != "pp")  # `-pPassword1`
                    is_flag = name[0] == "-" and text[end : end + 1] == " " and is_option
                    is_element = sign == ">" and (text[start - 1 : start] == "<" or "=" in text[end : end + 6])
                    is_assigning = sign in ("=", ":", ",", "|", ";") or text.startswith(("??", " ??"), end)
                    if is_assigning or is_element or (is_flag and sign != "-"):
                        assigned[end] = (start, end, kind)
                    if sign not in (":", "=") and not is_flag:
                        others.append((start, end, kind))
            at = lower.find(keyword, end)
    return sorted(assigned.values()), sorted(others)


def _family_in_context(text: str, start: int, end: int, kind: str) -> str:
    """The family of the name at start..end, whose own family is `kind`, considering the text before it."""
    name = text[start:end]
    before = text[start - 1] if start else ""
    if before == " ":
        low = name.lower()
        if low in ("key", "token") and not (kind and text[end : end + 1] == "="):  # `API key`
            head = text[max(0, start - 24) : start].rstrip(" ")
            return family((head[len(head.rstrip(NAME_CHARS)) :] + "_" + low).strip("-."))
    elif before and before in "?&":
        if name.lower() in ("key", "sig", "signature", "auth", "x-amz-signature", "x-goog-signature"):
            return "query"
    elif before == "$":
        return "" if text[end : end + 1] == ":" else kind  # `$PWD:/srv`
    elif before == ":":
        head = text[max(0, start - 64) : start]
        if "arn:" in head and "arn:" in head.split()[-1]:
            return ""
    elif before == "\\" and name[0] in "nrt" and not kind:  # a literal `\n` before the name
        return family(name[1:].strip("-."))
    return kind


def label(kind: str) -> str:
    """The kind in the mark for a family."""
    return "password" if kind in LOOSE else "api-key" if kind in ("key", "query") else kind
