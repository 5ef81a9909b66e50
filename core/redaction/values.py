"""Whether the value behind a secret's name is one: what stands for a secret, code, terms and prose are none."""

from __future__ import annotations

from core.redaction import MARK
from core.redaction.names import LOOSE, compiled, family, names_password

_DIGITS = frozenset("0123456789")
_SIGNS = frozenset("!#$%^&*+=@~?")
_HOLLOW = frozenset("*x.•-_#?X ")
_NOT_VALUES = frozenset(
    "none null nil undefined true false yes no on off empty missing required optional unset set invalid valid expired"
    " wrong str string bytes int integer number bool boolean any text varchar char object unknown never void secretstr"
    " redacted masked removed changeme changeit change-me change_me replaceme replace-me placeholder hidden todo tbd"
    " example dummy fake sample n/a na default prompt ask stdin env see the a an is are was in from"
    " x-oauth-basic hashed encrypted passwort kennwort password passwd passphrase pass pwd pw secret token key apikey"
    " api-key api_key my your value here files same-origin use-credentials".split()
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
    "sometimes|", "pk_live_", "pk_test_",
)  # fmt: skip
# `$X`, `$x[…`, `$x.y`, `$x->…`, `$1` and `:x` of SQL, `@x`, `%X%`.
_VARIABLE = r"(?s)\$(?:\d+|[^\W\d]\w*|[A-Za-z_.]+|\w+[\[(-])\Z|\$[^\n]*->|[:@][A-Za-z_]+\Z|%[^\n]*%\Z"
_CODE = r"(?!\d)[\w.]+[(\[]|\w+::|[A-Za-z_]+(?:\.[A-Za-z_]+)+\Z"
_STORED_PATH = r".+/[^/]*\.\w{2,5}\Z"
_BRACES = r"\{[\w.]+\}"
_ETHEREUM = r"0[xX][0-9a-fA-F]{40}\Z"
# Words that stand in sentences and not in a password of several words.
_SENTENCE = frozenset(
    "password passwords passwort kennwort passcode token your you my our the is are was must should may can cannot"
    " please enter invalid forgot for of with than least characters not no does do via something same it its this that"
    " be ihr ihre ein eingeben bitte".split()
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
    |.*(?:…|\.\.\.|://|::|\(\)|=>|@[^@]*\.|/.*/|\.(?:py|[tj]sx?|json|md|txt|ya?ml|toml|env|sh|go|rs|pem|key|php|java|cfg
    |ini|conf|html|css|sql|rb|c|h|com|org)\Z)
    |[a-z.]*/[a-z./]*\Z|\d{4}-|\d{1,3}:|\d[^.]*\.[^.]*\.|[a-z._]+[(\[]|[a-z\d.]+:\d+\Z|[a-z_-]{3,}=+[^=]
    |\d[\d.,:+×x]*-*(?:(?:[smhdwkbx]|ms|min|mins|(?:minute|sec|second|hour|day|week|month|year|bit|byte|char|character|digit
    |letter|word|time|token|way|factor|part|step)s?|[kmg]b|th:?|st|nd|rd|p[xt]|em)(?:-|\Z)|\Z)
    """


def is_placeholder(value: str) -> bool:
    """Whether a value stands for a secret without being one.

    Empty, already redacted, a reference (`$PASSWORD`, `${TOKEN}`, `{{ x }}`, `%X%`, `<token>`), hollow (`****`,
    `xxxxx`, `...`), a word that says so (`your-api-key-here`, `changeme`, `null`, `required`), or public by its form: a
    publishable key, an address of Ethereum. `changeme` is what examples print: knowing it tells nobody more than the
    manual does.
    """
    value = value.strip()
    if not value or value.startswith(_REFERENCES):
        return True
    if (not value[0].isalnum() and compiled(_VARIABLE).match(value)) or (
        value.startswith("0x") and compiled(_ETHEREUM).match(value)
    ):
        return True
    low = value.lower()
    if low in _NOT_VALUES or low.startswith(_SAYINGS):
        return True
    if _HOLLOW.issuperset(value):
        return True
    rest = compiled(_BRACES).sub("", value) if "{" in value else value
    return len(rest) < len(value) and sum(map(str.isalnum, rest)) < 4  # `{header}.{payload}`


def is_strong(value: str) -> bool:
    """Whether a value looks machine-made: 16 characters or more in one word, letters and digits, no path or address."""
    if len(value) < 16 or len(value.split()) != 1 or value[0] in "/.~" or "://" in value:
        return False
    return not _DIGITS.isdisjoint(value) and value.upper() != value.lower()


def is_code(value: str) -> bool:
    """Whether a bare value is an expression: a call, an index, an attribute, a reference."""
    return compiled(_CODE).match(value) is not None


def is_mixed(value: str) -> bool:
    """Whether a value has digits, and letters or length."""
    digits = not _DIGITS.isdisjoint(value)
    return digits and (value.upper() != value.lower() or not value.isascii() or len(value) >= 16)


def is_prose(value: str) -> bool:
    """Whether several words are a sentence rather than a passphrase."""
    return any(word.strip("?!.:,;()").lower() in _SENTENCE for word in value.split())


def is_technical(value: str) -> bool:
    """Whether a value names a technique, a measure, a date, a file, an address, code or a variable."""
    return compiled(_TECHNICAL).match(value) is not None or (value.isupper() and "_" in value)


def is_told(value: str, kind: str, *, quoted: bool = False, linked: bool = True, sure: bool = False) -> bool:
    """Whether a word that a sentence or a field gives to a name looks like a secret.

    Args:
        kind: the name's family; of a password less is asked than of a token.
        quoted: it stood in quotes, and may be several words.
        linked: something such as "is" gives it to the name.
        sure: a statement gives it, where nothing else may stand.
    """
    if len(value) < (1 if quoted else 5) or is_placeholder(value) or value[0] in "/~.{<-$[(|% \t,)" or "](" in value:
        return False
    digits = not _DIGITS.isdisjoint(value)
    if " " in value:
        words = len(value.split()) + digits
        return kind in LOOSE and words > (2 if linked or sure else 3) and not is_prose(value)
    cased, letters = value.lower() != value != value.upper(), value.lower() != value.upper()
    signs = not _SIGNS.isdisjoint(value[1:] if quoted else value[1:-1])
    if kind not in LOOSE:
        is_token = len(value) >= 12 and sum(char in _DIGITS for char in value) > 1 and letters
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
    return fits and not is_technical(value)


def is_assigned(value: str, kind: str, sign: str, *, quoted: bool, tight: bool, alone: bool) -> bool:
    """Whether a value that is assigned to a name is a secret, by how much the name, its form and surroundings say.

    Args:
        kind: the name's family, or `schemed` behind a word such as `Bearer`.
        sign: what stands between both.
        tight: no space stands around the sign.
        alone: nothing but punctuation, a comment or the next field follows on the line.
    """
    if is_placeholder(value) or (sign == " " and value.isalpha() and (value.isupper() or value.lower() in _SENTENCE)):
        return False
    if quoted and "_" in value and value.isupper() and value.replace("_", "a").isalpha():
        return False  # the name of a variable: `TOKEN_VARIABLE = "API_TOKEN"`
    if kind in ("key", "auth", "query", "schemed", "authorization") or sign == ",":
        return _is_strong_for(kind, value, sign, quoted, alone)
    if not quoted and is_code(value):
        return False
    if kind in ("pass", "pw"):
        if kind == "pw" and quoted and value.isalpha():
            return len(value) >= 6
        plain = sign[0] == "=" or kind == "pw" or (len(value) >= 8 - alone and value[0].isalpha() and "_" not in value)
        return is_mixed(value) and len(value) >= 6 and "/" not in value and "::" not in value and (quoted or plain)
    is_name = not quoted and value.replace("_", "a").isalpha()
    if kind != "password":
        return not (is_name and family(value)) and _is_token(value, quoted, tight, alone, sign)
    if (value[0] in "/~" and "/" in value[1:]) or value.startswith(("./", "../")) or (not quoted and value[0] == "("):
        return False
    if (is_name and names_password(value)) or (len(value) < 4 and not any(map(str.isalnum, value))):
        return False
    if quoted or tight:  # it may be any word
        return tight or " " not in value or not is_prose(value)
    return len(value) >= 3 if alone else is_told(value, kind)


def _is_strong_for(kind: str, value: str, sign: str, quoted: bool, alone: bool) -> bool:
    """Whether a value is so strong that a name alone, or one that stands before a comma, makes it a secret."""
    if kind == "schemed":
        return len(value) >= 6 and (alone or not value.isalpha())
    if kind in ("key", "auth", "query"):
        stored = compiled(_STORED_PATH).match(value) and not is_strong(value.partition("/")[0])
        return is_strong(value) and not stored and not (kind == "auth" and is_technical(value))
    return is_strong(value) or (quoted and len(value) >= 8 and " " not in value and sign != ",")


def _is_token(value: str, quoted: bool, tight: bool, alone: bool, sign: str) -> bool:
    """Whether a value is one word and no number, address or path; the looser it is written, the longer it must be."""
    if "://" in value or value.startswith(("/", "./", "~/", "arn:")):
        return False
    if " " in value.strip():
        return quoted and any(map(is_strong, value.split()))
    if value.isascii() and value.upper() == value.lower():
        return len(value) >= 16
    digits = not _DIGITS.isdisjoint(value)
    if tight or quoted:
        return len(value) >= (8 if quoted or not digits else 4) or (tight and len(value) >= 4 and sign == "=")
    if digits:
        return len(value) >= (8 if alone else 12)
    padded = value[-1] == "=" and len(value) >= 8 and len(value) % 4 == 0 and value.rstrip("=").isalnum()
    return alone and (padded or len(value) >= 16) and value.isascii() and "_" not in value and "-" not in value
