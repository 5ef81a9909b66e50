"""Finds secrets that are known by their form or by their randomness, and judges values by their form.

By their form: the tokens of providers, PEM blocks, credentials in URLs, headers and cookies. By their randomness:
tokens of base64 characters with both cases and digits that are no word, identifier, path or hash, and not public by
their form; hex numbers and UUIDs never are.

Each pattern is linear: an unbounded run is possessive, ends the match, or begins only at a boundary.
"""

from __future__ import annotations

from core import TYPE_CHECKING
from core.redaction import Span, compiled, find_secrets
from core.redaction.clues import FORMS, MIN_TOKEN

if TYPE_CHECKING:
    from core.redaction.clues import Clues

DIGITS = frozenset("0123456789")
SIGNS = frozenset("!#$%^&*+=@~?")
# Words in place of a secret, or that say that there is none.
_PLACEHOLDERS = frozenset(
    "none null nil undefined true false yes no on off empty missing required optional unset set invalid valid expired"
    " wrong str string bytes int integer number bool boolean any text varchar char object unknown never void secretstr"
    " redacted masked removed changeme changeit change-me change_me replaceme replace-me placeholder hidden todo tbd"
    " example dummy fake sample n/a default prompt ask stdin env see the a an is are was in from x-oauth-basic hashed"
    " encrypted passwort kennwort password passwd passphrase pass pwd pw secret token key apikey api-key api_key my"
    " your value here anonymous files same-origin use-credentials present absent guest options public private".split()
)
# Words of sentences that a password of several words does not have.
_OF_SENTENCES = frozenset(
    "password passwords passwort passcode token your you my our the is are was must should may can cannot please enter"
    " invalid forgot for of with than least characters not no does do via something same it its this that be to when if"
    " mindestens zeichen eingeben bitte by has have use used set leave empty keep only min max bytes byte chars"
    " character digit digits day days".split()
)
_TOKEN_BYTES = bytes(c if c < 128 and (chr(c).isalnum() or chr(c) in "+/_-") else 32 for c in range(256))
"""Maps every byte that no token contains to a blank."""
_REST = {
    # perhaps in two lines
    "aws-access-key": r"(?:[A-Z0-9]{16}(?![A-Z0-9])|(?=(?:\s*[A-Z0-9]){16}(?![A-Za-z0-9]))(?=[A-Z\s]{,99}\d)"
    r"[A-Z0-9]*\s*\n\s*[A-Z0-9]+)",
    "gitlab-token": r"[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,})*+", "stripe-key": r"[A-Za-z0-9+/=]{10,}",
    "slack-token": r"[A-Za-z0-9%-]{10,}", "slack-webhook": r"[a-z]{1,12}/([A-Za-z0-9/_+-]{16,})",
    "openai-key": r"(?:(?:proj|svcacct|admin|None|or)-[A-Za-z0-9_-]{20,}|(?=[A-Za-z]{0,48}[0-9])[A-Za-z0-9]{20,})",
    "sendgrid-key": r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,}", "twilio-key": r"[0-9a-f]{32}(?![A-Za-z0-9])",
    "api-key": r"[0-9a-f]{32}(?![A-Za-z0-9])", "discord-webhook": r"[0-9]{10,24}/([A-Za-z0-9_-]{30,})",
    "teams-webhook": r"([A-Za-z0-9]{32}(?:/[A-Za-z0-9_-]{16,})*)",
    "zapier-webhook": r"hooks/[a-z]{2,12}/(\d{5,12}/(?!abc|xxx)[A-Za-z0-9]{5,})",
    "databricks-token": r"[a-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])",
    "password-hash": r"(?:[^\s$:\"']{1,40}\$){1,2}[./A-Za-z0-9]{22,}",
    "jwt": r"(?<![_-]eyJ)[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)*+",
}  # fmt: skip
"""By kind, what follows the beginning of a token, unless it is `_ANY_REST`."""
_ANY_REST = r"(?=[A-Za-z+/_-]{0,48}[0-9])[A-Za-z0-9+/=_,-]{20,}"
_GAP = r"(?:[\s\"'+,]|\\[nrt\\])"
_KEY_LABEL = r"(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_SHAPES = (
    # a block of PEM. If it was cut off, header lines (RFC 1421) and runs of base64 follow: 16 characters or more,
    # so that the prose after the cut stays; the last may be shorter if it ends the text
    ("private-key", "-----BEGIN",
     rf"-----BEGIN {_KEY_LABEL}(?:(?:(?!-----BEGIN)[\s\S]){{0,20000}}?-----END {_KEY_LABEL}"
     rf"|(?:{_GAP}{{0,8}}(?:Proc-Type|DEK-Info|Version|Comment): ?[^\n\\]{{0,120}})*+"
     rf"(?:{_GAP}{{0,40}}+(?:[A-Za-z0-9+/]{{16,}}+=*+|[A-Za-z0-9+/]{{1,15}}+(?:=+|\Z)))++)"),
    ("telegram-token", ":AA",
     r"(?:(?<![A-Za-z0-9])|(?<=bot)|(?<=\\[nrt]))[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    # of a file of curl
    ("cookie", " TRUE | FALSE ", r"\t(?:TRUE|FALSE)\t/[^\t\n]*\t(?:TRUE|FALSE)\t\d+\t[^\t\n]+\t([^\s]{6,4096})"),
    # The digits after the `:` may be a port: `ssh://git:22@h`, `http://localhost:8080@2x.png`.
    # If it contains a `/`, the characters before the slash are no port.
    ("url-password", "://",
     r"://[^\s/@:\"'<>\[]{0,128}(?:(?<!//git)(?<!//localhost)(?<!//127\.0\.0\.1)|(?!:\d{1,5}@)):(?!\d{1,5}@\dx\.)"
     r"([^\s/\"'<>]{1,256}(?=@[^\s@])|(?!\d*/)[^\s@/\"'<>]{1,128}/[^\s@\"'<>]{1,256}(?=@[\w.-]+(?:[:/?\s\"',)]|\Z)))"),
    # a token instead of a user, not a name with a number: `svc-account-2024`
    ("url-password", "://",
     r"://(?=[\d_-]*[A-Za-z])((?:(?=[\w-]*?\d[A-Za-z_-]+\d)(?=(?:[A-Za-z_-]*\d){3})"
     r"|(?=(?:[A-Za-z]*\d){8}[A-Za-z\d]*[:@]))[\w-]{16,300})(?::[^\s/@]{0,100})?@(?!\S{0,40}ingest)"),
    ("url-password", "@tcp(", r":(?<=[\w.-]:)([^\s:@\"'/\]]{1,128})@tcp\("),
    # after `Bearer` or `Basic`, unless it is a word: "basic authentication"
    ("authorization", "bearer|basic", r"(?i:b(?<![a-z0-9]b)(?:earer|asic)[ \t]{1,4})"
     r"((?=[A-Za-z._~+/=-]*\d)[A-Za-z0-9._~+/=-]{12,}+"
     r"|(?=[a-z._~+/=-]*[A-Z])(?![A-Z][a-z._~+/=-]*(?![A-Za-z0-9._~+/=-]))[A-Za-z._~+/=-]{16,}+)"),
    ("secret", "recovery code|backup code",
     r"(?i)(?:recovery|backup)[ -]codes?[^\n]{0,80}:[ \t*]*\n\s*(?=[^:]{0,24}?(?:\d[a-z]|\d{4} \d{4}))"
     r"([a-z\d]{4,10}(?:[- ][a-z\d]{4,10}){0,3}"
     r"(?:[ \t]*\n(?=[a-z -]*\d)[a-z\d]{4,10}(?:[- ][a-z\d]{4,10}){0,3}(?=\s|\Z)){1,15})"),
    # a statement in SQL; in small letters it begins with a verb
    ("password", "identified",
     r"(?:IDENTIFIED|CREATE|ALTER|GRANT|Create|Alter|Grant|create|alter|grant)"
     r"(?:(?<=IDENTIFIED)| [^;]{0,160}?(?i:identified))(?i: +(?:with +\S{1,64} +)?by[ \t]{1,4}(?:password )?)"
     r"(?:(\\{0,3}[\"'`])((?:(?!\1)[^\n]){1,240})\1|((?=[^\s;]*\d)[^\s\"'<>,;)}\\]{1,240}))"),
    ("password", ":5432:",
     r"(?m)(?:^|(?<=[\s\"']))[^\s:#\"']{1,128}:5432:[^\s:]{1,64}:[^\s:]{1,64}:([^\s:\"']{3,128})(?=[\s\"']|$)"),
)  # fmt: skip
"""(kind, anchors, pattern): a text with a secret of this shape contains one of the anchors."""


def find_formed(text: str, clues: Clues) -> list[Span]:
    """The (start, end, kind) of each secret known by its form."""
    spans = _find_wallet_keys(text) if "0x" in clues.signs else []
    # no letter or digit precedes the beginning, except in an escape: `\n`, `%3D`, `\u003d`
    before = (r"(?<![A-Za-z0-9]", r"(?<=\\[nrt]", r"(?<=%[0-9A-Fa-f]{2}", r"(?<=\\u[0-9A-Fa-f]{4}")
    for kind, beginnings in FORMS.items():
        for beginning in clues.signs.intersection(beginnings.split()):
            begins = beginning.replace(".", r"\.").replace("$", r"\$")
            boundary = f"(?:{'|'.join(f'{look}{begins})' for look in before)})" * beginning[0].isalnum()
            spans += find_matches(text, kind, begins + boundary + _REST.get(kind, _ANY_REST))
    for kind, anchors, pattern in _SHAPES:
        if not clues.signs.isdisjoint(anchors.split("|")):
            spans += find_matches(text, kind, pattern)
    return spans if clues.signs.isdisjoint(("cookie", "curl", "auth")) else spans + _find_pairs(text)


def find_matches(text: str, kind: str, pattern: str, *within: int) -> list[Span]:
    """The matches (`within` a start and an end) that are no placeholder and do not end like an example: `…xxxxxxxx`."""
    spans = [match.span(match.lastindex or 0) for match in compiled(pattern).finditer(text, *within)]
    return [
        (start, end, kind)
        for start, end in spans
        if not is_placeholder(text[start:end]) and (end - start < 17 or len(set(text[end - 12 : end])) > 1)
    ]


def _find_wallet_keys(text: str) -> list[Span]:
    """The private keys of wallets, by the name before them; another such number is the hash of a block."""
    name = (
        r"(?i)(?<![a-z])(?:accounts|pk|wallet\(|(?:private|secret|deployer|wallet|signer|owner|admin|operator|relayer)"
        r"[ _-]?(?:key|pk))(?:s|_[a-z]{2,20})?[\"'`]?(?:[ \t]{0,3}(?:is|was|=>?|:|,|\())?[ \t\[\"'`]{0,4}\Z"
    )
    numbers = (match.span() for match in compiled("0x[0-9A-Fa-f]{64}(?![0-9A-Fa-f])").finditer(text))
    return [(at, end, "private-key") for at, end in numbers if compiled(name).search(text, max(0, at - 64), at)]


def _find_pairs(text: str) -> list[Span]:
    """The values in a header's pairs that are random or named after a session, a login, a token or a signature."""
    secrets = ("sess", "sid", "auth", "token", "jwt", "csrf", "xsrf", "login", "remember", "response", "signature")
    header = (
        r"[CAca](?<=\b.)(?i:(?<=c)(?:ookie[\"'\\]{0,3}[:=, ]|url [^\n]{0,400}?-b )"
        r"|(?<=a)uthorization[\"'\\]{0,3}[:=][ \t\"']{0,4}[a-z0-9-]+ )[^\n]*"
    )
    pair = compiled(r"(?<![^\s;:\"',])([A-Za-z0-9_.$-]{1,64})=\"?([^\s;,\"']{1,4096})")
    spans: list[Span] = []
    for line in compiled(header).finditer(text):
        for match in pair.finditer(text, line.start() + 6, line.end()):
            name, value = match.group(1).lower(), match.group(2)
            is_named = len(value) >= 6 and any(part in name for part in secrets)
            if (is_named or is_random(value)) and not is_placeholder(value):
                spans.append((*match.span(2), "cookie" if line.group()[0] in "cC" else "authorization"))
    return spans


_WORD_RUN = r"(?<![A-Z])[A-Z][a-z]{2,}|[A-Z]{3,}|[a-z]{3,}"
# Ids of RDS, the beginning of those of GitHub's GraphQL, and what its old ones encode.
_NODE_ID = r"(?:db|cluster)-[A-Z\d]{26}\Z|[A-Z]{1,5}_kw[A-Z]|\d{2,3}:[A-Z][A-Za-z]+\d"
# Public by design: content hashes, key fingerprints, public keys, publishable keys, mangled symbols of compilers, the
# ids of model providers.
_PUBLIC = (
    "sha1-", "sha256-", "sha384-", "sha512-", "AAAAB3NzaC1", "AAAAC3NzaC1lZDI1NTE5", "AAAAE2VjZHNh", "AAAAGnNr",
    "pk_live_", "pk_test_", "toolu_", "msg_", "call_", "req_", "resp_", "chatcmpl-", "fc_", "rs_", "run_", "thread_",
    "asst_", "srvtoolu_", "agent_msg_", "ses_", "prt_", "REDACTED", "nonce-", "MIIBIjAN", "MIICIjAN", "MFkwEwYHKoZI",
    "MCowBQYDK2V", "_ZN", "_ZK", "_ZT", "_ZS", "__ZN", "_RN",
    # images, fonts, sounds, PDF and archives
    "iVBORw0KGgo", "/9j/4", "R0lGOD", "UklGR", "d09GMg", "d09GRg", "T1RUTw", "AAABAA", "SUQz", "JVBERi0", "UEsDB",
    "H4sIA", "PHN2Zy",
)  # fmt: skip


def find_random(text: str) -> list[Span]:
    """The random tokens of a text. The path of a URL is left alone."""
    labels = r"(?:(?:TRUSTED |X509 )?CERTIFICATE|(?:NEW )?CERTIFICATE REQUEST|(?:RSA |EC |DSA )?PUBLIC KEY|X509 CRL)"
    public = rf"-----BEGIN {labels}-----(?:(?!-----BEGIN)[\s\S])*?-----END"
    shown = compiled(public).sub(lambda match: " " * len(match.group()), text) if "-----BEGIN" in text else text
    mapped = shown.encode("ascii", "replace").translate(_TOKEN_BYTES).decode("ascii")
    spans: list[Span] = []
    at = 0
    for word in [word for word in mapped.split() if len(word) >= MIN_TOKEN]:
        start = mapped.find(word, at)
        at = start + len(word)
        if word.lower() == word or word.upper() == word or DIGITS.isdisjoint(word) or _is_public(word):
            continue
        tokens = _in_path(text, word, start) if "/" in word else [(start, at)] if is_random(word) else []
        if tokens and not _is_published(text, start, at):
            spans += [(first, end, "high-entropy") for first, end in tokens if not _is_published(text, first, end)]
    return spans


def _is_published(text: str, start: int, end: int) -> bool:
    """Whether the random token at start..end is public by its form, its place or the name before it."""
    word, before = text[start:end].lstrip("-"), text[max(0, start - 64) : start].lower()
    named = before.removesuffix('w/"').rstrip(" \t\"'`:=>\\")  # a weak ETag
    names = (
        "public_key", "public-key", "publickey", "public key", "pubkey", "pub_key", "verify_key", "etag", "peer",
        "if-none-match", "-id-2", "sec-websocket-accept", "sec-websocket-key", "_id", "-id", "sheet",
        "sha256", "sha384", "sha512", " h1", ";base64,",
    )  # fmt: skip
    is_named = named.endswith(names) and "sess" not in named[-16:] and "secret" not in named[-16:]
    address = r"(?:Qm[1-9A-HJ-NP-Za-km-z]{44}|[13][1-9A-HJ-NP-Za-km-z]{25,34})\Z"  # of IPFS, of Bitcoin
    if is_named or word.startswith(_PUBLIC) or compiled(_NODE_ID).match(word) or compiled(address).match(word):
        return True
    folders = ("/tmp/", "/tmp.", "/var/folders/", "/dev/shm/", "\\Temp\\", "/Temp/")  # noqa: S108
    path = _word_before(text, start) + word
    return any(folder in path for folder in folders) or (len(word) <= 4_096 and _is_encoded_text(word))


def _is_encoded_text(word: str) -> bool:
    """Whether a word is base64 of several words in ASCII without a secret, or of JSON: the header of a token."""
    from binascii import Error, a2b_base64

    plain = word[: len(word) // 4 * 4].replace("-", "+").replace("_", "/")  # it may be cut
    try:
        text = a2b_base64(plain).decode("ascii")
    except (Error, UnicodeDecodeError):
        return False
    is_text = len(text.split()) > 1 or text.startswith('{"') or compiled(_NODE_ID).match(text)
    return bool(is_text) and " ".join(text.split()).isprintable() and not find_secrets(text)


def _in_path(text: str, word: str, start: int) -> list[tuple[int, int]]:
    """A token with slashes that is base64 as a whole, or the random parts between the slashes of a path."""
    before = _word_before(text, start)
    parts = word.split("/")
    in_url = "://" in before and "?" not in before and "#" not in before
    if word.startswith("//") or in_url or all(len(part) == 20 for part in parts):  # a build id of Go has such parts
        return []
    has_folder = word[0] in "/-" or any(len(part) > 3 and part.isalpha() and part.islower() for part in parts)
    if is_random(word) and len(parts) <= 2 + len(word) // 16 and not has_folder and not any(map(_is_public, parts)):
        return [(start, start + len(word))]
    found = compiled("[^/]+").finditer(text, start, start + len(word))
    return [part.span() for part in found if not _is_public(part.group()) and is_random(part.group())]


def _is_public(word: str) -> bool:
    """Whether a token is public by its beginning: an id, a hash, a publishable key."""
    head, _, rest = word.partition("_")
    # Stripe's ids; its keys begin otherwise, and a client secret has a second `_`
    ids = "acct ba card ch cus evt fee il in mandate pi plan pm po price prod pst re seti si sli sub txn vs we".split()
    return word.startswith(_PUBLIC) or (head in ids and rest.isalnum() and len(rest) <= 40)


def _word_before(text: str, start: int) -> str:
    """The characters before the token, without white space between them."""
    before = text[max(0, start - 120) : start]
    return before.split()[-1] if before[-1:].strip() else ""


def is_random(token: str) -> bool:
    """Whether a token has upper and lower case and digits, and few word-like runs.

    A word-like run is three or more letters of one case, or a capital and what follows it. This misses some
    5 % of the random base62 tokens of 24 characters, 2 % of those of 32; in 33 MB of Python sources, five names pass.
    """
    if len(token) < MIN_TOKEN or token.upper() == token or token.lower() == token:
        return False
    if not token[2:].strip("0123456789abcdefABCDEF"):  # two letters and a hex number: `0x…`, an id such as Twilio's
        return False
    token = token[:512]
    numbers = compiled("[0-9]+").findall(token)
    max_share = 0.75 if len(numbers) > 1 else 0.6  # all digits are together in `WriteI32BE` or `exception-2017`
    words = sum(map(len, compiled(_WORD_RUN).findall(token)))
    if not numbers or words > len(token) * max_share:
        return False
    # words, each perhaps with a capital, and a number after them; a number or a time; a hash, also as bundlers write it
    name = (
        rf"(?:{_WORD_RUN}|[A-Z][a-z]|[a-z]{{2}}\Z)*\d{{0,14}}\Z|v?[\dTZ]*[TZ][\dTZ]*\Z|[0-9a-f]{{6,64}}\Z"
        r"|[A-Z0-9]{8}\Z"
    )
    parts = token.replace("/", "-").replace("_", "-").split("-")
    # fewer than 17 characters outside of words and numbers are the random end of a name
    return sum(len(part) for part in parts if not compiled(name).match(part)) >= 17


def is_placeholder(value: str) -> bool:
    """Whether a value takes the place of a secret: empty, redacted, a reference (`$PASSWORD`), hollow (`****`), a word
    like `changeme`, or public by its form (a publishable key, an Ethereum address)."""
    forms = r"""(?xis)
    \Z|\[redacted:
    # a reference in a shell, a template, a store of secrets, YAML, Terraform, a program
    |[$\#%@]\{|[$%]\(|\{\{|<|op://|vault:|env:|file:|secrets\.|enc\[|!|var\.|local\.|module\.|data\.
    |random_password\.|self\.|this\.|import\.meta|process\.env|os\.environ
    # a variable: `$X`, `$x[…`, `$x.y`, `$x->…`, `$1` and `:x` of SQL, `@x`, `%X%`
    |\$(?:\d+|[^\W\d]\w*|[a-z_.]+|\w+[\[(-])\Z|\$[^\n]*->|[:@][a-z_]+\Z|%(?:[^\n]*%|[a-z])\Z
    # public; a rule for a field; an example
    |0x[\da-f]{40}\Z|pk_(?:live|test)_|(?:required|nullable|string|sometimes)\||your[-_]|my-api-key|insert-
    |replace[-_]me|.*(?:[-_]here|example|examplekey)\Z|[*x.•_\#?\ -]+\Z
    """
    value = value.strip()
    if compiled(forms).match(value) or value.lower().strip("[]()<>{}*&").rstrip("?") in _PLACEHOLDERS:
        return True
    rest = compiled(r"\{[\w.?!\[\]()]+\}").sub("", value) if "{" in value else value
    return len(rest) < len(value) and sum(map(str.isalnum, rest)) < 4  # `{header}.{payload}`


def is_strong(value: str) -> bool:
    """Whether a value looks machine-made: a word of 16 characters or more with letters and digits, no path or URL."""
    is_word = len(value.split()) == 1 and value[0] not in "/.~" and "://" not in value
    return is_word and len(value) >= 16 and not DIGITS.isdisjoint(value) and value.upper() != value.lower()


def is_made_up(value: str) -> bool:
    """Whether a word follows a rule for passwords: a digit, and both cases or a sign inside."""
    signed = value.lower() != value != value.upper() or not SIGNS.isdisjoint(value[1:-1])
    return len(value) >= 8 and signed and not DIGITS.isdisjoint(value)


def is_prose(value: str) -> bool:
    """Whether several words are a sentence rather than a passphrase."""
    return any(word.strip("?!.:,;()").lower() in _OF_SENTENCES for word in value.split())


def is_technical(value: str) -> bool:
    """Whether a value is a technical term, a measure, a date, a file, an address, code or a variable."""
    terms = r"""(?xis)
    (?:argon2|pbkdf2|bcrypt|scrypt|ed25519|oauth|1password|python|postgres|scram|v1alpha|v1beta)
    |(?=\d|[a-z]+[-_]*\d)\d*(?:sha|md|hmac|[hrpe]s|aes|rsa|utf|base|iso|rfc|https?|ipv|tls|m?fa|win|node|uuidv?|[kvx])
     [-_]*\d*(?![a-z\d])
    |(?:page|step|phase|section|column|password|token|secret|key|user|test_)[\w.]*?[\d_]{1,2}\Z
    |.*(?:…|\.\.\.|://|::|\(\)|=>|@[^@]*\.|/.+/|\.(?:py|[tj]sx?|json|md|txt|ya?ml|toml|env|sh|go|rs|pem|key|com|org)\Z)
    |\d{4}-|\d{1,3}:|\d[^.]*\.[^.]*\.|[a-z._]+[(\[]|[a-z\d.]+:\d+\Z|[a-z_-]{3,}=+[^=]
    |\d[\d.,:+×x]*-*(?:(?:[smhdwkbx]|ms|min|(?:minute|second|hour|day|bit|byte|char|character|digit|time|token)s?|[kmg]b
     |th|px|em)(?:-|\Z)|\Z)
    """
    return compiled(terms).match(value) is not None or (value.isupper() and "_" in value)
