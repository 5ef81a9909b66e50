"""What has letters and digits as a password has and is none: techniques, measures, dates, files, addresses, code."""

from __future__ import annotations

_DIGITS = frozenset("0123456789")
# Names of techniques have letters and digits as passwords have: `argon2id`, `HS256`, `1Password`.
_TECHNIQUES = (
    "argon2", "pbkdf2", "bcrypt", "scrypt", "blake2", "blake3", "ed25519", "x25519", "ecdsa", "secp256", "pkcs",
    "oauth", "1password", "bitwarden", "keepass", "python", "postgres", "mysql", "mariadb", "sqlite", "psycopg",
    "urllib", "scram", "base64",
    "ubuntu", "debian", "windows", "macos", "v1alpha", "v1beta",
)  # fmt: skip
_SHORT_TECHNIQUES = frozenset(
    (
        "sha md crc hmac hs rs es ps aes rsa x p ed utf latin ascii base b iso rfc oidc saml auth http https ipv tls "
        "ssl ssh fa mfa k s ec i l log win arm node boto vue uuid uuidv v gpt llama qwen h u mp id t q c ie"
    ).split()
)
# What is numbered, and no word that somebody takes for a password.
_NUMBERED = frozenset("page step phase section chapter column nullable varchar figure appendix paragraph".split())
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


def is_technical(value: str) -> bool:
    """Whether a value names a technique, a measure, a date, a file, an address, code or a variable."""
    low = value.lower()
    if low.startswith(_TECHNIQUES) or low.endswith(_ENDINGS) or _is_short_technique(low) or _is_numbered(low):
        return True
    if (
        low.startswith(_OWN_NAMES)
        and not _DIGITS.isdisjoint(low[-2:])
        and low.replace("_", "a").replace(".", "a").isalnum()
    ):
        return len(low.rstrip("0123456789_")) > len(low) - 3  # `password2`, `token_v2`
    if (
        "…" in value
        or "..." in value
        or "://" in value
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
        if found and head.replace(".", "a").replace("_", "a").isalpha():
            return True
    if value.rpartition(":")[2].isdigit() and value.rpartition(":")[0].replace(".", "a").isalnum():
        return True
    head, _, rest = value.partition("=")
    if rest.strip("=") and head.replace("_", "a").replace("-", "a").isalpha() and len(head) > 2:
        return True
    return value.isupper() and "_" in value


def _is_numbered(low: str) -> bool:
    return low.rstrip("0123456789") in _NUMBERED


def _is_short_technique(low: str) -> bool:
    """Whether a value is a short word, `-` perhaps, and a number: `sha256`, `rsa-4096`, `utf8`, `2fa`, `i18n`."""
    word = low.lstrip("0123456789")
    letters = word[: len(word) - len(word.lstrip("abcdefghijklmnopqrstuvwxyz"))]
    if letters not in _SHORT_TECHNIQUES:
        return False
    rest = word[len(letters) :].lstrip("-_")
    number = len(rest) - len(rest.lstrip("0123456789"))
    return len(low) - len(word) + number > 0 and not rest[number : number + 1].isalpha()
