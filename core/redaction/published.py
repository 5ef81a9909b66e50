"""What looks as random as a secret and is there to be shown.

Addresses of chains, ids of documents, public keys, nonces, mangled symbols, encoded text; ports, versions and paths.

Hot path: each is asked about what has been taken for a secret, which is rare.
"""

from __future__ import annotations

from core.redaction.names import is_strong

# How the public half of a pair of keys begins in base64, by its algorithm; and what compilers name functions.
_PUBLIC = (
    "MFkwEwYHKoZI", "MHYwEAYHKoZI", "MIGbMBAGByqGSM49", "MIIBIjAN", "MIICIjAN", "MIIBojAN", "MIGfMA0G", "MCowBQYDK2V",
    "MFYwEAYHKoZI", "nonce-",
    "_ZN", "_ZK", "_ZT", "_ZS", "_ZL", "__ZN", "_RNv", "_RIN", "_RNC",
)  # fmt: skip
_PUBLIC_NAMES = ("public_key", "public-key", "publickey", "public key", "pubkey", "pub_key", "verifykey", "verify_key")
_DOCUMENT_SIZES = (33, 44)
_DOCUMENTS = ("doc", "sheet", "drive", "folder", "slide", "form", "google", "file")
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_IPFS_SIZE = 46
_LONGEST_ENCODED = 4_096
_LEAST_TEXT = 12
_ASSIGNING = " \t\"'`:=>\\"


def is_published(text: str, start: int, end: int) -> bool:
    """Whether the random token at start..end is public by its own form or by what stands before it."""
    word = text[start:end].lstrip("-")
    if word.startswith(_PUBLIC):
        return True
    size = len(word)
    before = text[max(0, start - 64) : start].lower()
    if before.rstrip(_ASSIGNING).endswith(_PUBLIC_NAMES):
        return True
    if size == _IPFS_SIZE and word.startswith("Qm") and not word.strip(_BASE58):
        return True
    if word[0] in "13" and 26 <= size <= 35 and not word.strip(_BASE58):  # an address of Bitcoin
        return True
    if size in _DOCUMENT_SIZES and word[0] in "10" and any(name in before for name in _DOCUMENTS):
        return True
    return size <= _LONGEST_ENCODED and _is_encoded_text(word)


def _is_encoded_text(word: str) -> bool:
    """Whether a word is base64 of some words in ASCII with no secret among them."""
    from binascii import Error, a2b_base64

    plain = word.replace("-", "+").replace("_", "/")
    try:
        data = a2b_base64(plain + "=" * (-len(plain) % 4))
    except Error:
        return False
    if len(data) < _LEAST_TEXT or not data.isascii():
        return False
    text = data.decode("ascii")
    if not text.replace("\n", " ").replace("\t", " ").replace("\r", " ").isprintable() or len(text.split()) < 2:
        return False
    from core.redaction.search import find_secrets

    return not find_secrets(text)


def is_stored_path(value: str) -> bool:
    """Whether a value is the path of a file in a store: `uploads/2026/11/20/IMG_1234.jpg`.

    None is what begins with a machine-made word: that is a key, of which somebody made a folder's name.
    """
    folders, slash, name = value.rpartition("/")
    first = folders.partition("/")[0]
    if first.isalnum() and is_strong(first):
        return False
    ending = name.rpartition(".")[2]
    return bool(slash and folders) and ending != name and 1 < len(ending) < 6 and ending.isalnum()


def is_version(value: str) -> bool:
    """Whether a value ends in a version: `oauth2-proxy-v7.6.0`."""
    number = value.replace(":", "-").rpartition("-")[2].lstrip("v")
    return "." in number and number.replace(".", "").isdigit()


def is_port(text: str, start: int, end: int) -> bool:
    """Whether the digits behind the `:` of an address are a port: `ssh://git:22@h`, `http://localhost:8080@2x.png`."""
    if end - start > 5 or not text[start:end].isdigit():
        return False
    head = text[max(0, start - 80) : start].lower()
    scale = text[end + 1 : end + 4]
    return head.endswith(("ssh://git:", "git://git:", "//localhost:", "//127.0.0.1:")) or (
        scale[:1].isdigit() and scale[1:] == "x."
    )


def is_mapped(value: str) -> bool:
    """Whether a value is a port, or some that are mapped to each other: `8080`, `3306:3306`, `127.0.0.1:53:53/udp`."""
    parts = value.partition("/")[0].split(":")
    return all(part.replace(".", "").replace("-", "").isdigit() for part in parts) and len(parts[-1]) < 6
