"""Finds tokens that chance made: too random for a word, an identifier, a path or a hash, and not public by their form.

Only tokens of base64 characters with both cases and digits are judged; a hex number or a UUID never is.
"""

from __future__ import annotations

from math import log2

from core import TYPE_CHECKING
from core.redaction.values import DIGITS, Span, compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    Find = Callable[[str], list[Span]]
    """What finds the secrets of every kind: a token that is base64 of a text is judged by what the text holds."""

MIN_TOKEN = 24
"""Characters below which no bare token is judged by its entropy: more are hashes and identifiers than secrets."""
_MIN_ENTROPY = 3.6
"""Bits per character: keeps out repetitive tokens. 24 random base62 characters have 4.2 on average."""
_MAX_WORD_SHARE = 0.75
"""Largest share of characters in word-like runs (3 or more letters of one case, or a capital and what follows it): of
random base62 tokens it misses some 5 % at 24 characters, 2 % at 32; 33 MB of Python sources hold five that pass."""
_MAX_WORD_SHARE_ONE_NUMBER = 0.6
"""The same where all digits stand together, as in `WriteI32BE` or `exception-2017`."""

# Public by design: content hashes, key fingerprints, public keys, publishable keys, mangled symbols of compilers, the
# ids of model providers.
_PUBLIC = (
    "sha1-", "sha256-", "sha384-", "sha512-", "AAAAB3NzaC1", "AAAAC3NzaC1lZDI1NTE5", "AAAAE2VjZHNh", "AAAAGnNr",
    "AAAAInNr", "pk_live_", "pk_test_", "toolu_", "msg_", "call_", "req_", "resp_", "chatcmpl-", "fc_", "rs_", "run_",
    "thread_", "asst_", "srvtoolu_", "agent_msg_", "REDACTED",
    "nonce-", "MFkwEwYHKoZI", "MHYwEAYHKoZI", "MIGbMBAGByqGSM49", "MIIBIjAN", "MIICIjAN",
    "MIIBojAN", "MIGfMA0G", "MCowBQYDK2V", "MFYwEAYHKoZI", "_ZN", "_ZK", "_ZT", "_ZS", "_ZL", "__ZN", "_RN", "_RI",
)  # fmt: skip
_PUBLIC_LABELS = ("sha256:", "sha384:", "sha512:", "sha256=", "sha384=", "sha512=", "h1:", ";base64,")
_PUBLIC_NAMES = (
    "public_key", "public-key", "publickey", "public key", "pubkey", "pub_key", "verifykey", "verify_key",
    "etag", "if-none-match", "peer", "-version-id", "-id-2", "request-id", "sec-websocket-accept", "sec-websocket-key",
)  # fmt: skip
# What Stripe calls its things by; its keys begin otherwise, and a client secret has a second `_`.
_STRIPE_IDS = frozenset(
    "acct ba card ch cus evt fee il in mandate pi plan pm po price prod pst re seti si sli sub txn vs we".split()
)
# How images, fonts, sounds, PDF and archives begin in base64: of `_LEAST_FILE` characters they are files.
_FILES = (
    "iVBORw0KGgo", "/9j/4", "R0lGOD", "UklGR", "d09GMg", "d09GRg", "T1RUTw", "AAABAA", "SUQz", "JVBERi0", "UEsDB",
    "H4sIA", "PHN2Zy",
)  # fmt: skip
_LEAST_FILE = 64
_DOCUMENTS = ("doc", "sheet", "drive", "folder", "slide", "form", "google", "file")
"""Before the id of one, of 33 or 44 characters."""
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_LONGEST_ENCODED = 4_096
# What is made anew in every run is named by chance; a secret among such folders is longer than their names.
_TEMPORARY = ("/tmp/", "/tmp.", "/var/folders/", "/dev/shm/", "/data/app/~~", "\\Temp\\", "/Temp/")  # noqa: S108 - nothing is written there
_LEAST_IN_TEMPORARY = 40
_BUILD_ID = 20
"""Characters of each part of a build id of Go's, `action/…/content`."""
_LEAST_FOLDER = 4
"""Characters of a word that chance does not put between two slashes."""
_CERTIFICATES = (
    r"-----BEGIN (?:CERTIFICATE(?: REQUEST)?|(?:RSA )?PUBLIC KEY|X509 CRL)-----(?:(?!-----BEGIN)[\s\S])*?-----END"
)
_LEAST_UNWORDED = 17
"""Characters outside of the words and numbers between `-`, `_`, `/`: fewer are the random end of a name."""
_WORDS = r"(?<![A-Z])[A-Z][a-z]{2,}|[A-Z]{3,}|[a-z]{3,}"
# Words, each perhaps with a capital, and a number behind them; a number or a time; a hash, also as bundlers write it.
_NAMED = rf"(?:{_WORDS}|[A-Z][a-z]|[a-z]{{2}}\Z)*\d{{0,14}}\Z|v?[\dTZ]*[TZ][\dTZ]*\Z|[0-9a-f]{{6,64}}\Z|[A-Z0-9]{{8}}\Z"
# The same of a folder, without what chance puts between two slashes of base64.
_FOLDER = rf"(?:{_WORDS})*\d{{0,8}}\Z|v?[\dTZ]*[TZ][\dTZ]*\Z|[0-9a-f]{{6,64}}\Z"
_NODE_ID = r"(?:db|cluster)-[A-Z\d]{26}\Z|[A-Z]{1,5}_kw[A-Z]|\d{2,3}:[A-Z][A-Za-z]+\d"
"""Ids of RDS, how those of GitHub's GraphQL begin, and what its old ones encode."""
# What cannot be part of a base64 token becomes a space, one for one, so that positions stay.
_SEPARATORS = bytes(c if c < 128 and (chr(c).isalnum() or chr(c) in "+/_-") else 32 for c in range(256))


def holds_made(words: set[str], find: Find) -> bool:
    """Whether one of the words by itself holds such a token, be it that what surrounds it makes it public."""
    long = [word for word in words if len(word) >= MIN_TOKEN and not (word.isalpha() or word.islower())]
    return any(len(word) > _LONGEST_ENCODED or find_random(word, find) for word in long)


def find_random(text: str, find: Find) -> list[Span]:
    """Tokens that chance made. The path of a URL is left alone."""
    # certificates and public keys are there to be shown
    hidden = compiled(_CERTIFICATES).sub(lambda one: " " * len(one.group()), text) if "-----BEGIN" in text else text
    mapped = hidden.encode("ascii", "replace").translate(_SEPARATORS).decode("ascii")
    spans: list[Span] = []
    at = 0
    # a long word is part of no shorter one, so that it stands where it is found behind the long one before
    for word in [word for word in mapped.split() if len(word) >= MIN_TOKEN]:
        at = mapped.find(word, at)
        start, at = at, at + len(word)
        if len(word) <= 28 and word[0] in "MNO" and text[at : at + 8 : 7] == "..":
            last = mapped[at + 8 : at + 72].split(" ", 1)[0]
            if len(last) >= 27:
                spans.append((start, at + 8 + len(last), "discord-token"))
                continue
        if word.lower() == word or word.upper() == word or DIGITS.isdisjoint(word):
            continue
        if _is_public(word) or text[max(0, start - 8) : start].lower().endswith(_PUBLIC_LABELS):
            continue
        if len(word) >= _LEAST_FILE and word.startswith(_FILES):
            continue
        made: list[tuple[int, int]] = []
        if "/" in word:
            made = _in_path(text, word, start)
        elif is_random(word) and (len(word) >= _LEAST_IN_TEMPORARY or not _is_temporary(text, start, word)):
            made = [(start, at)]
        if made and not _is_published(text, start, at, find):
            made = [one for one in made if one == (start, at) or not _is_published(text, *one, find)]
            spans += [(*one, "high-entropy") for one in made]
    return spans


def _is_published(text: str, start: int, end: int, find: Find) -> bool:
    """Whether the random token at start..end is public by what it is, or by what stands before it."""
    word, before = text[start:end].lstrip("-"), text[max(0, start - 64) : start].lower()
    size = len(word)
    named = before.removesuffix('w/"').rstrip(" \t\"'`:=>\\")  # a weak ETag
    if word.startswith(_PUBLIC) or compiled(_NODE_ID).match(word) or named.endswith(_PUBLIC_NAMES):
        return True
    if ((size == 46 and word.startswith("Qm")) or (word[0] in "13" and 26 <= size <= 35)) and not word.strip(_BASE58):
        return True  # of IPFS, an address of Bitcoin
    if size in (33, 44) and word[0] in "10" and any(name in before for name in _DOCUMENTS):
        return True
    return size <= _LONGEST_ENCODED and _is_encoded_text(word, find)


def _is_encoded_text(word: str, find: Find) -> bool:
    """Whether a word is base64 of some words in ASCII with no secret among them, or of JSON: the header of a token."""
    from binascii import Error, a2b_base64

    plain = word.replace("-", "+").replace("_", "/")
    if word.startswith("eyJ"):
        plain = plain[: len(plain) // 4 * 4 or None]  # it may be cut
    try:
        text = a2b_base64(plain + "=" * (-len(plain) % 4)).decode("ascii")
    except (Error, UnicodeDecodeError):
        return False
    is_said = len(text.split()) > 1 or text.startswith('{"') or compiled(_NODE_ID).match(text)
    return len(text) >= 12 and bool(is_said) and " ".join(text.split()).isprintable() and not find(text)


def _in_path(text: str, word: str, start: int) -> list[tuple[int, int]]:
    """A token with slashes that is base64 as a whole; or what is random between the slashes of a path."""
    before = _before(text, start)
    in_url = "://" in before and "?" not in before and "#" not in before
    parts = word.split("/")
    if word.startswith("//") or in_url or all(len(part) == _BUILD_ID for part in parts):
        return []
    temporary = _is_temporary(text, start, word)
    whole = word[0] not in "/-" and not temporary and len(parts) <= 2 + len(word) // 16
    if whole and not any(map(_is_folder, parts)) and is_random(word) and not any(map(_is_public, parts)):
        return [(start, start + len(word))]
    least = _LEAST_IN_TEMPORARY if temporary else MIN_TOKEN
    spans = []
    for part in parts:
        if len(part) >= least and not _is_public(part) and is_random(part):
            spans.append((start, start + len(part)))
        start += len(part) + 1
    return spans


def _is_folder(part: str) -> bool:
    """Whether what stands between slashes is a name of words, as folders have: the rest is no base64 then."""
    return len(part) >= _LEAST_FOLDER and all(map(compiled(_FOLDER).match, part.replace("_", "-").split("-")))


def _is_public(word: str) -> bool:
    """Whether a token is public by how it begins: an id, a hash, a key to publish."""
    head, _, rest = word.partition("_")
    return word.startswith(_PUBLIC) or (head in _STRIPE_IDS and rest.isalnum() and len(rest) <= 40)


def _before(text: str, start: int) -> str:
    """What stands before the token without white space between."""
    before = text[max(0, start - 120) : start]
    return before.split()[-1] if before[-1:].strip() else ""


def _is_temporary(text: str, start: int, word: str) -> bool:
    """Whether the token at `start` belongs to a path through a folder for temporary files."""
    path = _before(text, start) + word
    return any(folder in path for folder in _TEMPORARY)


def is_random(token: str) -> bool:
    """Whether a token has upper and lower case and digits, few word-like runs, and the entropy of chance."""
    if len(token) < MIN_TOKEN or token.isalpha() or token.upper() == token or token.lower() == token:
        return False
    if not token[2:].strip("0123456789abcdefABCDEF"):  # two letters and a hex number: `0x…`, an id such as Twilio's
        return False
    if token[1:-1].lower() == token[1:-1]:  # a hash with a letter for its kind, as ccache has them
        return False
    token = token[:512]
    size = len(token)
    numbers = compiled("[0-9]+").findall(token)
    digits = sum(map(len, numbers))
    most = _MAX_WORD_SHARE if len(numbers) > 1 else _MAX_WORD_SHARE_ONE_NUMBER
    if not digits or digits * 3 > size * 2 or sum(map(len, compiled(_WORDS).findall(token))) > size * most:
        return False
    again = size - len(set(token)) + 1  # times that one character stands there, at most
    if log2(size) - again * log2(again) / size < _MIN_ENTROPY:  # it may be too little
        shares = [token.count(char) / size for char in set(token)]
        if -sum(share * log2(share) for share in shares) < _MIN_ENTROPY:
            return False
    parts = token.replace("/", "-").replace("_", "-").split("-")  # words, and too little of chance behind them
    return sum(len(part) for part in parts if not compiled(_NAMED).match(part)) >= _LEAST_UNWORDED
