"""Finds the secret that somebody tells in a sentence: "the password for staging is …", "I set the pw to …". Hot path.

No `re`: a name of a secret is followed word by word, a dozen words at most, so that the time is linear in the text.
"""

from __future__ import annotations

from core.redaction.names import is_placeholder, is_prose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.redaction.assignments import Name, Span

_REACH = 220
_NAME_PARTS = ("pass", "pw", "secret", "token", "key", "auth", "credential")
_MOST_WORDS = 12
_DIGITS = frozenset("0123456789")
_SIGNS = frozenset("!#$%^&*+=@~?")
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "„": "“", "«": "»"}
_BEHIND = frozenset(" \t'’,\"`*)(")
_FAMILIES = frozenset(["password", "pw", "pass", "secret", "token", "api-key", "private-key"])

# Behind these the value follows, perhaps after another of them.
_LINKS = frozenset(
    (
        "is was are be being been has had will should to from now still just simply currently again also always only "
        "changed set reset rotated updated switched renamed became becomes reads says called into exactly literally "
        "actually temporarily ist war lautet lautete wurde auf = : - -- – — → -> => is: was: be: lautet: ist: to:"
    ).split()
)
# Behind the verb "pass" others of them stand: "options to pass to the linker".
_PLAIN_LINKS = frozenset(["is", "was", "=", ":", "->", "→"])
# With these begins what says which password it is: "for the webhook on staging", "I got from the portal".
_OPENERS = frozenset(
    (
        "for of on at from in to i we you he she they that which with und für von zum zur der des am im here below "
        "used given shared field"
    ).split()
)
_BEFORE = (" as ", " as the ", " as my ", " as your ", " as its ", " as a ", " is the ", " is my ", " is your ")
# Names of techniques have letters and digits as passwords have: `argon2id`, `HS256`, `1Password`.
_TECHNIQUES = (
    "sha", "md5", "md4", "argon2", "pbkdf2", "bcrypt", "scrypt", "blake", "crc", "hmac", "hs2", "hs3", "hs5", "rs2",
    "rs3", "rs5", "es2", "es3", "es5", "es6", "ps2", "ps3", "ps5", "aes", "rsa", "ecdsa", "ed25519", "ed448", "x509",
    "x25519", "p256", "p-256", "secp", "pkcs", "p12", "utf", "latin1", "ascii", "base", "b64", "iso", "rfc", "oauth",
    "oidc", "saml", "auth0", "http", "https", "ipv", "tls", "ssl", "ssh2", "2fa", "mfa", "1password", "bitwarden",
    "keepass", "k8s", "s3", "ec2", "i18n", "l10n", "log4", "win32", "win64", "x86", "x64", "arm64", "python", "node",
    "postgres", "mysql", "mariadb", "sqlite", "psycopg", "urllib", "boto3", "vue", "ubuntu", "debian", "windows",
    "macos", "uuid", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "gpt", "claude", "llama", "qwen", "h264",
)  # fmt: skip
_UNITS = frozenset(
    (
        "s ms m h d w min mins minute minutes sec secs second seconds hour hours day days week weeks month months year "
        "years b kb mb gb k bit bits byte bytes char chars character characters digit digits letter letters word words "
        "x th st nd rd times token tokens way ways factor part parts step steps th: px pt em"
    ).split()
)
_ENDINGS = (
    ".py", ".ts", ".tsx", ".js", ".json", ".md", ".txt", ".yml", ".yaml", ".toml", ".env", ".sh", ".go", ".rs", ".pem",
    ".key", ".php", ".java", ".cfg", ".ini", ".conf", ".html", ".css", ".sql", ".rb", ".c", ".h", ".com", ".org",
)  # fmt: skip
_OWN_NAMES = ("password", "passwd", "token", "secret", "key", "api_key", "apikey", "user", "test_", "pwd")
_DATABASE = ("role ", "user ", "login ", "identified", "alter ", "create ", "machine ", "connect ")


def find_told(text: str, lower: str, names: list[Name]) -> list[Span]:
    """The (start, end, kind) of each value that a sentence, or SQL, gives to one of the names."""
    spans: list[Span] = []
    done = 0
    for start, end, kind in names:
        if kind not in _FAMILIES or start < done or text[end : end + 1] not in _BEHIND or text[start] == "-":
            continue
        if text[end + 1 : end + 2] == "-" and text[end + 2 : end + 3] not in "- >":
            continue  # an option
        loose = kind in ("password", "pw", "pass")
        label = "password" if loose else kind
        at, stop = _value_behind(text, lower, start, end, loose, kind != "pass")
        if stop:
            spans.append((at, stop, label))
            done = stop
            follow = text[stop : stop + 24].lstrip("\"'`”’*")
            if follow.startswith((" to ", " auf ")):  # "changed from … to …"
                at = text.index(follow, stop) + follow.index(" ", 1) + 1
                at, stop = _told(text, at, loose, linked=True)
                if stop:
                    spans.append((at, stop, label))
                    done = stop
        elif loose and kind != "pass" and text.endswith(" ", 0, start):
            at, stop = _value_before(text, lower, start)
            if stop:
                spans.append((at, stop, label))
    return spans


def _value_behind(text: str, lower: str, start: int, end: int, loose: bool, juxtaposed: bool) -> tuple[int, int]:
    """Where the value behind a name stands, (0, 0) for none."""
    at = end
    linked = text.startswith(("'s ", "’s "), at)
    if linked:
        at += 3
    elif text[at] in "\"'`*)" and text[at + 1 : at + 2] in " ,\t":
        at += 1  # "the `password` is …"
    if text[at : at + 1] == "(":
        if lower[start:end] == "password" and text[at + 1 : at + 2] == "'" and _is_sql(lower, start, "'"):
            return _told(text, at + 1, loose, linked=True, any_word=True)
        return 0, 0
    if text[at : at + 1] == "," and loose:
        at += 1
    rest = lower[at : end + _REACH].split("\n", 1)[0].split("\\n", 1)[0].replace("\t", " ")
    words = []
    for word in rest.split(" ", _MOST_WORDS):
        if word:
            words.append((at, word))
        at += len(word) + 1
    if not words or (not juxtaposed and words[0][1] not in _PLAIN_LINKS):
        return 0, 0
    if juxtaposed and not linked and _may_be_told(words[0][1]):
        at, word = words[0]
        found = _told(text, at, loose, False, loose and _is_sql(lower, start, word))
        if found[1]:
            return found
    return _followed(text, lower, start, end, loose, linked, words)


def _followed(
    text: str, lower: str, start: int, end: int, loose: bool, linked: bool, words: list[tuple[int, str]]
) -> tuple[int, int]:
    """Where the value stands that words such as "is", "was changed to", "for the server is" lead to."""
    opened = False
    for number, (at, word) in enumerate(words):
        if word in _LINKS and (linked or word != "from"):
            linked = True
            if word == "to" and not _is_changed(lower, start, end, at):
                linked, opened = False, True
            continue
        if linked and _may_be_told(word):
            found = _told(text, at, loose, True)
            if found[1]:
                return found
        if (not number and word in _OPENERS) or (linked and opened):
            opened, linked = True, False
        elif not opened:
            break
        if word[-1] in ".!?;" or any(part in word for part in _NAME_PARTS):
            break  # what follows another name is looked for there, so that no word is visited by many
        linked = word[-1] == ":"
    return 0, 0


def _may_be_told(word: str) -> bool:
    return not word.isalpha() and word[0] != "-"


def _is_changed(lower: str, start: int, end: int, at: int) -> bool:
    """Whether the "to" at `at` says what something was changed to: such a verb stands before the name or behind it."""
    around = lower[max(0, start - 48) : start].rsplit(".", 1)[-1] + lower[end:at]
    return any(verb in around for verb in ("chang", "set", "updat", "rotat", "switch", "renam", "geändert", "gesetzt"))


def _is_sql(lower: str, start: int, word: str) -> bool:
    """Whether the name stands in a statement or a netrc that gives any word behind it to a user."""
    if word[:1] != "'" and _DIGITS.isdisjoint(word):
        return False
    head = lower[max(0, start - 160) : start]
    return any(word in head for word in _DATABASE)


def _told(text: str, at: int, loose: bool, linked: bool, any_word: bool = False) -> tuple[int, int]:
    """Where the value that begins at `at` stands without its quotes, if it looks like a secret."""
    while text[at : at + 1] in ("*", "(", "_") and text[at + 1 : at + 2] not in ("*", ""):
        at += 1
    if text.startswith("**", at):
        at += 2
    slashes = 0
    while slashes < 3 and text[at + slashes : at + slashes + 1] == "\\":
        slashes += 1
    mark = text[at + slashes : at + slashes + 1]
    if mark in _QUOTES and mark:
        at += slashes + 1
        closing = text[at - slashes - 1 : at - 1] + _QUOTES[mark]
        stop = text.find(closing, at, at + 160)
        value = text[at:stop] if stop > 0 else ""
        if value and "\n" not in value and _is_quoted_secret(value, loose, linked, any_word):
            return at, stop
        return 0, 0
    words = text[at : at + 160].split(None, 1)
    value = words[0] if words else ""
    for end in '"<`\\':
        if end in value:
            value = value.partition(end)[0]
    value = value.rstrip(".,;:)*?>")
    if value.endswith(("'", "!'")):
        value = value.rstrip("'")
    if value and text[at + len(value) : at + len(value) + 1] != "(" and _is_bare_secret(value, loose, linked, any_word):
        return at, at + len(value)
    return 0, 0


def _is_quoted_secret(value: str, loose: bool, linked: bool, any_word: bool) -> bool:
    if (
        is_placeholder(value)
        or value[0] in "/~.{<-$ \t%,)"
        or "](" in value
        or not any(char.isalnum() for char in value)
    ):
        return False
    if " " in value:
        many = len(value.split()) + (not _DIGITS.isdisjoint(value))
        return loose and many > (2 if linked or any_word else 3) and not is_prose(value)
    if any_word:
        return True
    if _is_technical(value):
        return False
    digits = not _DIGITS.isdisjoint(value)
    if not loose:
        return digits and _is_token(value)
    if digits or not _SIGNS.isdisjoint(value[1:]):
        return len(value) >= 6
    return linked and len(value) >= 6 and value.isalpha() and value.islower()


def _is_bare_secret(value: str, loose: bool, linked: bool, any_word: bool) -> bool:
    if len(value) < 5 or is_placeholder(value) or value[0] in "/~.{<-$[(|" or _is_technical(value):
        return False
    digits = not _DIGITS.isdisjoint(value)
    if not loose:
        return linked and digits and _is_token(value)
    cased = value.upper() != value and value.lower() != value
    letters = value.upper() != value.lower()
    signs = not _SIGNS.isdisjoint(value[1:-1])
    if any_word:
        return digits and letters
    if not linked:
        return digits and len(value) >= 7 and (cased or signs)
    if digits:
        return letters and (len(value) >= 6 or signs)
    if signs:
        return letters and len(value) >= 8
    parts = value.split("-")
    return len(parts) > 3 and all(len(part) > 2 and part.isalpha() for part in parts) and not is_prose(" ".join(parts))


def _is_token(value: str) -> bool:
    """Whether a value is long enough, with digits enough, for a token, a key or a secret."""
    return len(value) >= 12 and sum(char in _DIGITS for char in value) > 1 and value.upper() != value.lower()


def _is_technical(value: str) -> bool:
    """Whether a value names a technique, a measure, a date, a file, an address, code or a variable."""
    low = value.lower()
    if low.startswith(_TECHNIQUES) or low.endswith(_ENDINGS) or "…" in value or "..." in value:
        return True
    if low.startswith(_OWN_NAMES) and not _DIGITS.isdisjoint(low[-2:]) and low.replace("_", "a").isalnum():
        return len(low.rstrip("0123456789_")) > len(low) - 3  # `password2`, `token_v2`
    if (
        "://" in value
        or "::" in value
        or "()" in value
        or "=>" in value
        or ("@" in value and "." in value.split("@")[-1])
    ):
        return True
    if value.count("/") > 1 or ("/" in value and value.replace("/", "a").replace(".", "a").isalpha()):
        return True
    if value[0] in _DIGITS:
        if (value[4:5] == "-" and value[:4].isdigit()) or ":" in value[:4] or value.count(".") > 1:
            return True
        rest = low.lstrip("0123456789.,:+×x").lstrip("-")
        if rest.split("-", 1)[0] in _UNITS or not rest:
            return True
    for sign in "([":
        head, found, _ = value.partition(sign)
        if found and head.replace(".", "a").replace("_", "a").isalnum() and value[-1] in ")]":
            return True
    head, found, rest = value.partition("=")
    if found and head.replace("_", "a").replace("-", "a").isalpha() and len(head) > 2:
        return True
    return value.isupper() and "_" in value


def _value_before(text: str, lower: str, start: int) -> tuple[int, int]:
    """Where the value in `use "…" as the password` stands: quoted, or bare where it has digits and signs."""
    head = lower[max(0, start - 12) : start]
    if not head.endswith(_BEFORE):
        return 0, 0
    found = next(before for before in _BEFORE if head.endswith(before))
    stop = start - len(found)
    closing = text[stop - 1 : stop]
    if closing in _QUOTES.values() and closing:
        marks = [mark for mark, end in _QUOTES.items() if end == closing]
        at = max(text.rfind(mark, max(0, stop - 80), stop - 1) for mark in marks) + 1
        value = text[at : stop - 1]
        if at and value and "\n" not in value and _is_quoted_secret(value, True, False, False):
            return at, stop - 1
        return 0, 0
    at = max(text.rfind(" ", max(0, stop - 80), stop), text.rfind("\n", max(0, stop - 80), stop)) + 1
    if at and _is_bare_secret(text[at:stop], True, False, False):
        return at, stop
    return 0, 0
