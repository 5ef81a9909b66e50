"""Which names (keys, variables, flags, headers) say that their value is a secret, and which values are none."""

from __future__ import annotations

from core.redaction import MARK

Span = tuple[int, int, str]
Name = tuple[int, int, str]
"""Where the name of a secret stands, and its family."""

_PASSWORDS = ("password", "passwd", "passwort", "kennwort", "passphrase", "passcode", "userpwd")
# Ends that no other word has: `compass` and `bypass` end in `pass` too.
_PASSES = (
    "requirepass", "userpass", "dbpass", "adminpass", "rootpass", "smtppass", "mailpass", "ftppass", "authpass",
    "sudopass", "storepass", "keypass", "dbpw", "userpw", "adminpw", "rootpw", "bindpw", "ldappw", "smtppw", "mypw",
)  # fmt: skip
_OF_PROGRAMS = ("sshpass", "auth", "authorization", "pat", "psk")
# Others have patterns: `_HEX_PAT`.
_PAT_OWNERS = frozenset(
    (
        "github gitlab git gh gl ghcr azure azdo ado devops bitbucket jira snowflake databricks airtable figma release "
        "bot ci repo deploy access personal npm docker dockerhub user asana actions workflow admin webflow"
    ).split()
)
# What is done with a password or said of it: `forgotPassword`, `resetPassword`, `invalidPassword`.
_ACTIONS = frozenset(
    (
        "forgot forgotten reset change show hide toggle enter check verify validate compare hash generate lost invalid "
        "wrong incorrect missing require requires has is use uses need needs no without weak get read ask"
    ).split()
)
# With one of these a name such as `my-secret-token` or `your_password_here` says what to write in its place.
_FILLERS = frozenset(
    "my your the some a an this is here put insert enter goes example sample dummy fake placeholder value".split()
)
_FILLED = _FILLERS | frozenset(
    "secret super password passwd pass token key api access auth login user username".split()
)
_KEY_OWNERS = frozenset(
    (
        "api access secret private auth account master signing signature encryption encrypt crypto shared service "
        "admin anon role subscription license session hmac jwt deploy webhook app write host hmac1 storage"
    ).split()
)
_ONE_WORD_KEYS = (
    "apikey", "secretkey", "privatekey", "accesskey", "authkey", "masterkey", "accountkey", "signingkey",
    "encryptionkey",
)  # fmt: skip
# Counts, limits, paging and vocabulary: a token in the sense of text or of a cursor.
_TEXT_TOKENS = frozenset(
    (
        "max min per num total next page continuation eos bos pad unk sep cls mask special stop first last each text "
        "word one single output input prompt completion cached current"
    ).split()
)
_QUALIFIERS = frozenset("prod production dev staging test live old new value plain plaintext raw b64 base64 v".split())
_PUBLIC_KEYS = frozenset(
    (
        "primary foreign cache sort partition public dict idempotency object row index unique lookup map routing group "
        "publishable hot short arrow registry verify dedupe merge event"
    ).split()
)
_NOT_VALUES = frozenset(
    (
        "none null nil undefined true false yes no on off empty missing required optional unset set invalid valid "
        "expired wrong str string bytes int integer number bool boolean any text varchar char object unknown "
        "never void secretstr redacted masked removed changeme changeit change-me change_me replaceme replace-me "
        "placeholder hidden todo tbd example dummy fake sample n/a na default prompt ask stdin env see the a an "
        "is are was in from x-oauth-basic hashed encrypted passwort kennwort password passwd passphrase pass pwd "
        "pw secret token key apikey api-key api_key my your value here files same-origin use-credentials"
    ).split()
)
# Words that stand in sentences and not in a password of several words.
_SENTENCE = frozenset(
    (
        "password passwords passwort kennwort passcode token your you my our the is are was must should may can cannot "
        "please enter invalid forgot for of with than least characters not no does do something same it its "
        "this that be ihr ihre ein eingeben bitte"
    ).split()
)
_HOLLOW = frozenset("*x.•-_#?X ")

_DIGITS = frozenset("0123456789")

_LEAST = 4
# `$X`, `$x[…`, `$x.y`, `$x->…`, `$1` and `:x` of SQL, `@x`, `%X%`.
_VARIABLE = r"(?s)\$(?:\d+|[^\W\d]\w*|[A-Za-z_.]+|\w+[\[(-])\Z|\$[^\n]*->|[:@][A-Za-z_]+\Z|%[^\n]*%\Z"
_CODE = r"(?!\d)[\w.]+[(\[]|\w+::|[A-Za-z_]+(?:\.[A-Za-z_]+)+\Z"
_ADDRESS = 42
# How a reference begins: of a shell, a template, a store of secrets, Terraform, CloudFormation, YAML, a program.
_REFERENCES = (
    MARK, "${", "$(", "{{", "<", "#{", "%(", "%{", "@{", "op://", "vault:", "env:", "file:", "secrets.", "ENC[",
    "!vault", "!ref", "!Ref", "!Sub", "!GetAtt", "!secret", "!env", "var.", "local.", "module.", "each.",
    "data.aws", "data.azurerm", "data.google", "random_password.", "azurerm_", "aws_", "google_", "kubernetes_",
    "self.", "this.", "ctx.", "import.meta",
)  # fmt: skip
_SAYINGS = (
    "your-", "your_", "my-api-key", "insert-", "process.env", "os.environ", "required|", "nullable|", "string|",
    "sometimes|", "pk_live_", "pk_test_",
)  # fmt: skip

# Behind these the value follows, perhaps after another of them.
LINKS = frozenset(
    (
        "is was are be being been has had will should to from now still just simply currently again also always only "
        "changed set reset rotated updated switched renamed became becomes reads says called into exactly literally "
        "actually temporarily ist war lautet lautete wurde auf = : | - -- – — → -> => is: was: be: lautet: ist: to:"
    ).split()
)
# With these begins what says which password it is: "for the webhook on staging", "I got from the portal".
OPENERS = frozenset(
    (
        "for of on at from in to i we you he she they that which with und für von zum zur der des am im here below "
        "used given shared field"
    ).split()
)
BEFORE = (" as ", " as the ", " as my ", " as your ", " as its ", " as a ", " is the ", " is my ", " is your ")
"""What stands between a value and a name behind it."""
_LEADING = LINKS | OPENERS
_WORD = 40


def words_of(name: str) -> list[str]:
    """The lower-case words of a name in any case style: `clientSecret`, `CLIENT_SECRET`, `client-secret` alike."""
    words: list[str] = []
    before = ""
    for at, char in enumerate(name):
        if not char.isalnum():
            before = ""
            continue
        is_new = not before or (char.isupper() and (not before.isupper() or name[at + 1 : at + 2].islower()))
        if is_new:
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
    if last in _PASSES:
        return "password"
    if last in _OF_PROGRAMS:
        return _of_program(last, before, name)
    if last.endswith("secret") or last in ("credential", "credentials", "secretstring"):
        return "secret"
    if before == "secret" and last in ("string", "binary"):
        return "secret"
    if last.endswith("token"):
        return "" if before in _TEXT_TOKENS or last == "subtoken" else "token"
    if words[-3:] == ["secret", "key", "base"]:
        return "secret"
    return _key_family(last, before, name)


def _of_program(last: str, before: str, name: str) -> str:
    """The kind of what a program reads: `psk`, `SSHPASS`, `REDISCLI_AUTH`, `GITHUB_PAT`; of any other `auth`, that."""
    if last == "auth":
        return "password" if before in ("rediscli", "redis") and name.isupper() else "auth"
    if last in ("psk", "authorization"):
        return "pass" if last == "psk" else last
    if not name.isupper():
        return ""
    return "password" if last == "sshpass" else "token" if before in _PAT_OWNERS else ""


def names_password(name: str) -> bool:
    """Whether a name speaks of a password, be it of one or of what is done with it: `readPassword`."""
    last = words_of(name)[-1:]
    return bool(last) and (last[0] in ("pwd", "pass", "pw") or last[0].endswith(_PASSWORDS))


def _key_family(last: str, before: str, name: str) -> str:
    if last.endswith(_ONE_WORD_KEYS):
        return "private-key" if last.endswith("privatekey") else "api-key"
    if last == "key" and before in _KEY_OWNERS:
        return "private-key" if before == "private" else "api-key"
    if last in ("key", "salt") and before and before not in _PUBLIC_KEYS and name.upper() == name:
        return "key"
    return ""


def is_placeholder(value: str) -> bool:
    """Whether a value stands for a secret without being one.

    Empty, already redacted, a reference (`$PASSWORD`, `${TOKEN}`, `{{ x }}`, `%X%`, `<token>`), hollow (`****`,
    `xxxxx`,
    `...`), a word that says so (`your-api-key-here`, `changeme`, `null`, `required`) or a reference to a secret store.
    So does what is public by its form: a publishable key, an address of Ethereum. `changeme` counts as a placeholder:
    it is what examples print, and knowing it tells nobody more than the manual does.
    """
    value = value.strip()
    if not value or value.startswith(_REFERENCES):
        return True
    low = value.lower()
    if low in _NOT_VALUES or low.startswith(_SAYINGS):
        return True
    if low.startswith(("your", "put your")) and low.replace(" ", "a").isalpha():
        return True
    if "-" in low or "_" in low:
        words = low.replace("_", "-").split("-", 8)
        if not _FILLERS.isdisjoint(words) and _FILLED.issuperset(words):
            return True
    if not value[0].isalnum() and _matches(_VARIABLE, value):
        return True
    if low[:2] == "0x" and len(low) == _ADDRESS and not low[2:].strip("0123456789abcdef"):
        return True
    return _HOLLOW.issuperset(value) or ("{" in value and _is_template(value))


def _is_template(value: str) -> bool:
    """Whether names in braces are all of a value, but for a few characters: `{header}.{payload}`."""
    import re

    rest = re.sub(r"\{[\w.]+\}", "", value)
    return len(rest) < len(value) and sum(char.isalnum() for char in rest) < _LEAST


def is_strong(value: str) -> bool:
    """Whether a value looks machine-made: 16 characters or more without space, letters and digits, no path, no
    address."""
    if len(value) < 16 or len(value.split()) != 1 or value[0] in "/.~" or "://" in value:
        return False
    return not _DIGITS.isdisjoint(value) and value.upper() != value.lower()


def is_code(value: str) -> bool:
    """Whether a bare value is an expression: a call, an index, an attribute, a reference."""
    return _matches(_CODE, value)


def _matches(pattern: str, value: str) -> bool:
    import re

    return re.match(pattern, value) is not None


def is_mixed(value: str) -> bool:
    """Whether a value has digits, and letters or length."""
    digits = not _DIGITS.isdisjoint(value)
    return digits and (value.upper() != value.lower() or not value.isascii() or len(value) >= 16)


def is_prose(value: str) -> bool:
    """Whether several words are a sentence rather than a passphrase."""
    return any(word.strip("?!.:,;()").lower() in _SENTENCE for word in value.split())


def may_be_told(text: str, lower: str, start: int, end: int) -> bool:
    """Whether a sentence or a field could give a value to the name at start..end: hardly any does."""
    char = text[end]
    if char in ");]}":
        return False
    words = lower[end + 1 : end + _WORD].split(None, 1) if char == " " else ()
    if not words or not words[0].rstrip(".,;:!?").isalpha() or words[0] in _LEADING:
        return True
    return is_stated(text, lower, start, True) or lower.endswith(BEFORE, max(0, start - 12), start)


def is_stated(text: str, lower: str, start: int, loose: bool) -> bool:
    """Whether the word behind the name is its value: in a netrc, `ENV NAME VALUE`, `set -x NAME VALUE`.

    `loose` says that it is the name of a password.
    """
    if text.endswith(("ENV ", "setenv ", "set -x ", "set -gx ", "set -Ux "), max(0, start - 8), start):
        return True
    head = lower[max(0, start - 120) : start]
    return loose and "login " in head and ("machine " in head or "default " in head)
