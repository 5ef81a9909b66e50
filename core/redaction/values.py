"""Which names (keys, variables, flags, headers) announce a secret, and whether the value behind one is a secret."""

from __future__ import annotations

from core.redaction import MARK

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
    " masterauth userpw adminpw rootpw bindpw ldappw smtppw mypw".split()
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
    "api access secret private auth account master signing signature encryption decryption encrypt crypto shared"
    " service admin anon role subscription license licence activation recovery session hmac jwt deploy webhook app"
    " write host hmac1 storage".split()
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
_AS_THEY_ARE = {"auth": "auth", "psk": "pw", "authorization": "authorization"}
_IN_NAME = "abcdefghijklmnopqrstuvwxyz0123456789_.-/"
FIELDS = ("name", "key", "variable", "field", "setting", "property", "parameter", "param", "option", "entry", "-n")
_QUALIFIERS = frozenset("prod production dev staging test live old new value plain plaintext raw b64 base64 v".split())

_patterns: dict[str, re.Pattern[str]] = {}
DIGITS = frozenset("0123456789")
SIGNS = frozenset("!#$%^&*+=@~?")
_HOLLOW = frozenset("*x.•-_#?X ")
_NOT_VALUES = frozenset(
    "none null nil undefined true false yes no on off empty missing required optional unset set invalid valid expired"
    " wrong str string bytes int integer number bool boolean any text varchar char object unknown never void secretstr"
    " redacted masked removed changeme changeit change-me change_me replaceme replace-me placeholder hidden todo tbd"
    " example dummy fake sample n/a na default prompt ask stdin env see the a an is are was in from"
    " x-oauth-basic hashed encrypted passwort kennwort password passwd passphrase pass pwd pw secret token key apikey"
    " api-key api_key my your value here files same-origin use-credentials present absent guest options".split()
)
# How a reference begins: of a shell, a template, a store of secrets, Terraform, CloudFormation, YAML, a program.
_REFERENCES = (
    MARK, "${", "$(", "{{", "<", "#{", "%(", "%{", "@{", "op://", "vault:", "env:", "file:", "secrets.", "ENC[",
    "!vault", "!ref", "!Ref", "!Sub", "!GetAtt", "!secret", "!env", "var.", "local.", "module.", "each.",
    "data.aws", "data.azurerm", "data.google", "random_password.", "azurerm_", "aws_", "google_", "kubernetes_",
    "self.", "this.", "ctx.", "import.meta",
)  # fmt: skip
_SAYINGS = (
    "your-", "your_", "my-api-key", "insert-", "process.env", "os.environ", "required|", "nullable|", "string|",
    "sometimes|", "pk_live_", "pk_test_", "replace-me", "replace_me",
)  # fmt: skip
_ENDINGS = ("-here", "_here", "example", "examplekey")
# `$X`, `$x[…`, `$x.y`, `$x->…`, `$1` and `:x` of SQL, `@x`, `%X%`.
_VARIABLE = r"(?s)\$(?:\d+|[^\W\d]\w*|[A-Za-z_.]+|\w+[\[(-])\Z|\$[^\n]*->|[:@][A-Za-z_]+\Z|%(?:[^\n]*%|[a-z])\Z"
_CODE = r"[!*]?(?!\d)[\w.]+[(\[]|\w+::|[A-Za-z_]+(?:\.[A-Za-z_]+)+\Z|[A-Za-z_][\w.]*[?!]+\.\w|&(?:\[|mut |'\w)"
# What its last word says of a name of the code: `Uint8Array`, `Web3Credentials`, `passwordSchema`.
_CODE_WORDS = frozenset(
    "array buffer bytes str string type schema request response config options props input ref provider".split()
)
_NAME_OF_CODE = r"(?a)[A-Za-z_][\w.]*[A-Za-z]\Z"
# How the tokens of a provider begin, and nothing of one behind: `lin_api_`, `npm_xxxx`; words with a version.
_BEGINNING = (
    r"(?:[A-Za-z]{1,8}\d{0,2}(?:[_-][A-Za-z]{1,8}\d{0,2}){0,2}[_-](?:…|[xX.*…]{2,})?"
    r"|[a-z]{2,}(?:[-_.:][a-z]{2,})*[-_]v\d{1,2})\Z"
)
# Words that say what they stand for, and a command or a file among several.
_SAID_WORDS = r"[a-z]+(?:[-_.][a-z]+)+\Z"
_PATTERN = ("a-z", "A-Z", "\\w", "\\d")
_COMMAND = r"(?s).*(?:\A|\s)(?:--?[a-z]|\S*\w\.[a-z]{2,4}(?:\s|\Z))"
_STORED_PATH = r".+/[^/]*\.\w{2,5}\Z"
_BRACES = r"\{[\w.?!\[\]()]+\}"
_ETHEREUM = r"0[xX][0-9a-fA-F]{40}\Z"
# Words that stand in sentences and not in a password of several words.
_SENTENCE = frozenset(
    "password passwords passwort kennwort passcode token your you my our the is are was must should may can cannot"
    " please enter invalid forgot for of with than least characters not no does do via something same it its this that"
    " be ihr ihre ein eingeben bitte to when if by has have use used set leave empty keep only min max bytes byte chars"
    " character digit digits day days zeichen ziffern stellen caracteres caractères caratteri tekens".split()
)
# What has letters and digits as a password has and is none: techniques (`argon2id`, `HS256`, `1Password`), what is
# numbered, measures, dates, times, files, addresses, code and variables.
_TECHNICAL = r"""(?xis)
    (?:argon2|pbkdf2|bcrypt|scrypt|blake[23]|ed25519|x25519|ecdsa|secp256|pkcs|oauth|1password|bitwarden|keepass
    |python|postgres|mysql|mariadb|sqlite|psycopg|urllib|scram|base64|ubuntu|debian|windows|macos|v1alpha|v1beta)
    |(?=\d|[a-z]+[-_]*\d)\d*(?:sha|md|crc|hmac|[hrpe]s|aes|rsa|ed|utf|latin|ascii|base|iso|rfc|oidc|saml|auth|https?|ipv
    |tls|ssl|ssh|m?fa|ec|log|win|arm|node|boto|vue|uuidv?|gpt|llama|qwen|mp|id|ie|[xpbksilvhutqc])[-_]*\d*(?![a-z\d])
    |(?:page|step|phase|section|chapter|column|nullable|varchar|figure|appendix|paragraph)\d*\Z
    |(?:password|passwd|token|secret|key|api_?key|user|test_|pwd)[\w.]*?[\d_]{1,2}\Z
    |.*(?:…|\.\.\.|://|::|\(\)|=>|@[^@]*\.|/.+/|\.(?:py|[tj]sx?|json|md|txt|ya?ml|toml|env|sh|go|rs|pem|key|php|java|cfg
    |ini|conf|html|css|sql|rb|c|h|com|org)\Z)
    |[a-z.]*/[a-z./]*\Z|\d{4}-|\d{1,3}:|\d[^.]*\.[^.]*\.|[a-z._]+[(\[]|[a-z\d.]+:\d+\Z|[a-z_-]{3,}=+[^=]
    |\d[\d.,:+×x]*-*(?:(?:[smhdwkbx]|ms|min|mins|(?:minute|sec|second|hour|day|week|month|year|bit|byte|char|character|digit
    |letter|word|time|token|way|factor|part|step)s?|[kmg]b|th:?|st|nd|rd|p[xt]|em)(?:-|\Z)|\Z)
    """


def words_of(name: str) -> list[str]:
    """The lower-case words of a name in any case style: `clientSecret`, `CLIENT_SECRET`, `client-secret` alike."""
    words: list[str] = []
    before = ""
    for at, char in enumerate(name):
        if not char.isalnum():
            before = "" if char.isascii() else before  # what does not show ends no word
            continue
        if not before or (char.isupper() and (not before.isupper() or name[at + 1 : at + 2].islower())):
            words.append("")
        words[-1] += char.lower()
        before = char
    return words


def family(name: str) -> str:
    """The kind of secret that a name announces, or "" for none, as `tokens`, `maxTokens`, `forgotPassword`; `key`,
    `auth`, `pass`, `pw` announce one only where the value looks the part."""
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
        return "" if before == "existing" else "secret"
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
    head = lower[max(0, start - 64) : start].rstrip(_IN_NAME)
    return head.rstrip(" \t\"'\\:=>").endswith(FIELDS)


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled once; `re` is loaded where the first is needed."""
    known = _patterns.get(pattern)  # `re.compile` looks five times as long
    if known is None:
        import re

        known = _patterns[pattern] = re.compile(pattern)
    return known


def label(kind: str) -> str:
    """What the mark says of a family."""
    return "password" if kind in LOOSE else "api-key" if kind in ("key", "query") else kind


def is_placeholder(value: str) -> bool:
    """Whether a value stands for a secret without being one: empty, redacted, a reference (`$PASSWORD`), hollow
    (`****`), a word that says so (`changeme`), or public by its form: a publishable key, an address of Ethereum."""
    value = value.strip()
    if not value or value.startswith(_REFERENCES):
        return True
    if (not value[0].isalnum() and compiled(_VARIABLE).match(value)) or (
        value.startswith("0x") and compiled(_ETHEREUM).match(value)
    ):
        return True
    low = value.lower()
    if low.strip("[]()<>{}*&").rstrip("?") in _NOT_VALUES or low.startswith(_SAYINGS) or low.endswith(_ENDINGS):
        return True
    if _HOLLOW.issuperset(value):
        return True
    rest = compiled(_BRACES).sub("", value) if "{" in value else value
    return len(rest) < len(value) and sum(map(str.isalnum, rest)) < 4  # `{header}.{payload}`


def is_strong(value: str) -> bool:
    """Whether a value looks machine-made: 16 characters or more in one word, letters and digits, no path or address."""
    if len(value) < 16 or len(value.split()) != 1 or value[0] in "/.~" or "://" in value:
        return False
    return not DIGITS.isdisjoint(value) and value.upper() != value.lower()


def is_code(value: str) -> bool:
    """Whether a bare value is an expression: a call, an index, an attribute, a reference."""
    return compiled(_CODE).match(value) is not None


def is_of_code(value: str, kind: str, *, quoted: bool) -> bool:
    """Whether a value is a name that the code has for a secret or its type, or says itself what it stands for."""
    if kind not in LOOSE and compiled(_BEGINNING).match(value):
        return True
    words = words_of(value) if compiled(_SAID_WORDS if quoted else _NAME_OF_CODE).match(value) else []
    if len(words) < 2:
        return False
    if not quoted and words[-1] in _CODE_WORDS:
        return True
    return bool(family(value)) and kind not in LOOSE


def is_made(value: str) -> bool:
    """Whether a word has what chance or a rule for passwords put there: a digit, and both cases or a sign within."""
    signed = value.lower() != value != value.upper() or not SIGNS.isdisjoint(value[1:-1])
    return len(value) >= 8 and signed and not DIGITS.isdisjoint(value)


def is_prose(value: str) -> bool:
    """Whether several words are a sentence rather than a passphrase."""
    return any(word.strip("?!.:,;()").lower() in _SENTENCE for word in value.split())


def is_technical(value: str) -> bool:
    """Whether a value names a technique, a measure, a date, a file, an address, code or a variable."""
    return compiled(_TECHNICAL).match(value) is not None or (value.isupper() and "_" in value)


def is_told(value: str, kind: str, *, quoted: bool = False, linked: bool = True, sure: bool = False) -> bool:
    """Whether a word that a sentence or a field gives to a name of this family looks like a secret: `quoted`, it may be
    several words; `linked`: a word such as "is" gives it; `sure`: a statement does."""
    if len(value) < (1 if quoted else 5) or is_placeholder(value) or value[0] in "/~.{<-$[(|% \t,)" or "](" in value:
        return False
    digits = not DIGITS.isdisjoint(value)
    if " " in value:
        words = len(value.split()) + digits
        return kind in LOOSE and words > (2 if linked or sure else 3) and not is_prose(value)
    cased, letters = value.lower() != value != value.upper(), value.lower() != value.upper()
    signs = not SIGNS.isdisjoint(value[1:] if quoted else value[1:-1])
    if kind not in LOOSE:
        least = 1 if len(value) >= 16 and value.isalnum() else 2
        is_token = len(value) >= 12 and sum(char in DIGITS for char in value) >= least and letters
        fits = is_token and (quoted or linked or (cased and len(value) >= 16 and value.isalnum()))
    elif quoted and sure:
        return any(map(str.isalnum, value))
    elif quoted:
        fits = len(value) >= 6 and (digits or signs or (linked and value.isalpha() and value.islower()))
    elif sure or not linked:
        fits = digits and (letters if sure else len(value) >= 7 and (cased or signs))
    elif digits or signs:
        fits = letters and (len(value) >= (6 if digits else 8) or (digits and signs))
    else:
        parts = value.split("-")
        fits = len(parts) > 3 and all(len(one) > 2 and one.isalpha() for one in parts) and not is_prose(" ".join(parts))
    return fits and not is_technical(value) and (quoted or not is_of_code(value, kind, quoted=False))


def is_assigned(value: str, kind: str, sign: str, *, quoted: bool, tight: bool, alone: bool) -> bool:
    """Whether a value that is assigned to a name is a secret. `kind` is the name's family, or `schemed` behind a word
    such as `Bearer`; `tight`: no space stands around the sign; `alone`: nothing but punctuation, a comment or the next
    field follows on the line."""
    if is_placeholder(value) or (sign == " " and value.isalpha() and (value.isupper() or value.lower() in _SENTENCE)):
        return False
    if sign in ("||", "??") and kind == "token" and value.isalpha():
        return False  # `token || 'anonymous'`
    if quoted and "_" in value and value.isupper() and value.replace("_", "a").isalpha():
        return False  # the name of a variable: `TOKEN_VARIABLE = "API_TOKEN"`
    if kind in ("key", "auth", "query", "schemed", "authorization") or sign == ",":
        return _is_strong_for(kind, value, sign, quoted, alone)
    if (not quoted and is_code(value)) or is_of_code(value, kind, quoted=quoted or tight):
        return False
    if kind in ("pass", "pw"):
        if kind == "pw" and quoted and (value.isalpha() or (tight and " " in value)):
            return len(value) >= 6
        quoted = quoted or is_made(value)
        plain = sign[0] == "=" or kind == "pw" or (len(value) >= 8 - alone and value[0].isalpha() and "_" not in value)
        mixed = not DIGITS.isdisjoint(value) and (value.upper() != value.lower() or len(value) >= 16)
        return mixed and len(value) >= 6 and "/" not in value and "::" not in value and (quoted or plain)
    is_name = not quoted and value.replace("_", "a").isalpha()
    if kind != "password":
        return not (is_name and family(value)) and _is_token(value, quoted, tight, alone, sign)
    if (value[0] in "/~" and "/" in value[1:]) or value.startswith(("./", "../")) or (not quoted and value[0] == "("):
        return False
    if (is_name and names_password(value)) or (len(value) < 4 and not any(map(str.isalnum, value))):
        return False
    if quoted or tight:  # it may be any word
        return tight or " " not in value or not (is_prose(value) or compiled(_COMMAND).match(value))
    return len(value) >= 3 if alone else is_told(value, kind)


def _is_strong_for(kind: str, value: str, sign: str, quoted: bool, alone: bool) -> bool:
    """Whether a value is so strong that a name alone, or one that stands before a comma, makes it a secret."""
    if kind == "schemed":
        return len(value) >= 6 and (alone or not value.isalpha())
    if kind in ("key", "auth", "query"):
        stored = compiled(_STORED_PATH).match(value) and not is_strong(value.partition("/")[0])
        return is_strong(value) and not stored and not (kind == "auth" and is_technical(value))
    return is_strong(value) or (quoted and len(value) >= 8 and " " not in value and sign != "," and "://" not in value)


def _is_token(value: str, quoted: bool, tight: bool, alone: bool, sign: str) -> bool:
    """Whether a value is one word and no number, address or path; the looser it is written, the longer it must be."""
    if "://" in value or value.startswith(("/", "./", "~/", "arn:")) or any(sign in value for sign in _PATTERN):
        return False
    if " " in value.strip():
        return quoted and any(map(is_strong, value.split()))
    if value.isascii() and value.upper() == value.lower():
        return len(value) >= 16
    digits = not DIGITS.isdisjoint(value)
    if tight or quoted:
        return len(value) >= (8 if quoted or not digits else 4) or (tight and len(value) >= 4 and sign == "=")
    if digits:
        return len(value) >= (8 if alone else 12)
    padded = value[-1] == "=" and len(value) >= 8 and len(value) % 4 == 0 and value.rstrip("=").isalnum()
    return alone and (padded or len(value) >= 16) and value.isascii() and "_" not in value and "-" not in value
