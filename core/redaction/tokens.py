"""Finds secrets that are known by their form or by their randomness.

By their form: the tokens of providers, PEM blocks, credentials in URLs, headers and cookies. By their randomness:
tokens of base64 characters with both cases and digits that are no word, identifier, path or hash, and not public by
their form; hex numbers and UUIDs never are.

A new form is a row of `_FORMS`; its beginning also belongs into the pre-check of `core.redaction` if it may have no
digit. Each pattern is linear: an unbounded run is possessive, ends the match, or begins only at a boundary.
"""

from __future__ import annotations

from math import log2

from core import TYPE_CHECKING
from core.redaction import compiled
from core.redaction.values import DIGITS, Span, is_placeholder, is_strong

if TYPE_CHECKING:
    from collections.abc import Callable

    Find = Callable[[str], list[Span]]
    """Finds secrets of every kind: a token that is base64 of a text is judged by what the text contains."""

_FORMS = tuple(
    (kind, tuple(beginnings.split()), least, rest)
    for kind, beginnings, least, rest in (
        ("aws-access-key", "AKIA ASIA ABIA ACCA", 16, r"[A-Z0-9]{16}(?![A-Z0-9])"),
        ("aws-bedrock-key", "ABSK", 40, r"[A-Za-z0-9+/]{40,}=*"),
        ("google-api-key", "AIza", 30, r"[A-Za-z0-9_-]{30,}"),
        ("google-oauth", "ya29.", 20, r"[A-Za-z0-9._-]{20,}"),
        ("google-oauth", "GOCSPX-", 20, r"[A-Za-z0-9_-]{20,}"),
        ("google-oauth", "1//0", 30, r"[A-Za-z0-9_-]{30,}"),
        ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", 20, r"[A-Za-z0-9]{20,}"),
        ("github-token", "github_pat_", 22, r"[A-Za-z0-9_]{22,}"),
        ("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- gloas-", 20,
         r"[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,})*+"),
        ("slack-token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxc- xoxd-", 10, r"[A-Za-z0-9%-]{10,}"),
        ("slack-token", "xoxe.xoxb- xoxe.xoxp- xapp-", 10, r"[A-Za-z0-9-]{10,}"),
        ("slack-webhook", "hooks.slack.com/", 20, r"[a-z]{1,12}/([A-Za-z0-9/_+-]{16,})"),
        ("stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_", 10, r"[A-Za-z0-9]{10,}"),
        ("stripe-key", "whsec_", 20, r"[A-Za-z0-9+/=]{20,}"),
        ("anthropic-key", "sk-ant-", 20, r"[A-Za-z0-9_-]{20,}"),
        ("openrouter-key", "sk-or-", 20, r"[A-Za-z0-9_-]{20,}"),
        ("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", 20, r"[A-Za-z0-9_-]{20,}"),
        ("openai-key", "sk-", 20, r"(?=[A-Za-z]{0,48}[0-9])[A-Za-z0-9]{20,}"),
        ("huggingface-token", "hf_ api_org_", 30, r"[A-Za-z0-9]{30,}"),
        ("npm-token", "npm_", 36, r"[A-Za-z0-9]{36,}"),
        ("pypi-token", "pypi-Ag", 30, r"[A-Za-z0-9_-]{30,}"),
        ("rubygems-token", "rubygems_", 40, r"[a-f0-9]{40,}"),
        ("sendgrid-key", "SG.", 47, r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,}"),
        ("twilio-key", "SK", 32, r"[0-9a-f]{32}(?![A-Za-z0-9])"),
        ("mailgun-key", "key-", 32, r"[0-9a-f]{32}(?![A-Za-z0-9])"),
        ("discord-webhook", "/api/webhooks/", 41, r"[0-9]{10,24}/([A-Za-z0-9_-]{30,})"),
        ("teams-webhook", "/IncomingWebhook/", 32, r"([A-Za-z0-9]{32}(?:/[A-Za-z0-9_-]{16,})*)"),
        ("zapier-webhook", "hooks.zapier.com/", 20, r"hooks/[a-z]{2,12}/(\d{5,12}/(?!abc|xxx)[A-Za-z0-9]{5,})"),
        ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", 32, r"[a-f0-9]{32,}"),
        ("shopify-token", "shpat_ shpca_ shppa_ shpss_", 32, r"[a-fA-F0-9]{32,}"),
        ("databricks-token", "dapi", 32, r"[a-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])"),
        ("linear-key", "lin_api_ lin_oauth_ lin_wh_", 30, r"[A-Za-z0-9]{30,}"),
        ("notion-token", "secret_ ntn_", 40, r"[A-Za-z0-9]{40,}"),
        ("vault-token", "hvs. hvb. hvr.", 20, r"[A-Za-z0-9_-]{20,}"),
        ("vault-token", "s.", 24, r"(?<![_.)\]]s\.)(?=[A-Za-z]{0,23}[0-9])[A-Za-z0-9]{24}(?![A-Za-z0-9_.(])"),
        ("doppler-token", "dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit.", 40,
         r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"),
        ("fly-token", "fo1_ fm1r_ fm1a_ fm2_", 30, r"[A-Za-z0-9+/=,_-]{30,}"),
        ("supabase-key", "sbp_", 40, r"[a-f0-9]{40,}"),
        ("supabase-key", "sb_secret_", 20, r"[A-Za-z0-9_-]{20,}"),
        ("groq-key", "gsk_", 40, r"[A-Za-z0-9]{40,}"),
        ("xai-key", "xai-", 40, r"[A-Za-z0-9]{40,}"),
        ("perplexity-key", "pplx-", 40, r"[A-Za-z0-9]{40,}"),
        ("replicate-token", "r8_", 32, r"[A-Za-z0-9]{32,}"),
        ("tavily-key", "tvly-", 24, r"[A-Za-z0-9-]{24,}"),
        ("figma-token", "figd_", 30, r"[A-Za-z0-9_-]{30,}"),
        ("docker-token", "dckr_pat_ dckr_oat_", 20, r"[A-Za-z0-9_-]{20,}"),
        ("grafana-token", "glsa_", 32, r"[A-Za-z0-9]{32}(?:_[A-Fa-f0-9]{8})?"),
        ("grafana-token", "glc_", 32, r"[A-Za-z0-9+/=]{32,}"),
        ("atlassian-token", "ATATT3 ATCTT3", 40, r"[A-Za-z0-9_=-]{40,}"),
        ("sentry-token", "sntrys_ sntryu_", 40, r"[A-Za-z0-9+/=_-]{40,}"),
        ("brevo-key", "xkeysib- xsmtpsib-", 64, r"[a-f0-9]{64}(?:-[A-Za-z0-9]{8,})?"),
        ("postman-key", "PMAK-", 40, r"[a-f0-9-]{40,}"),
        ("newrelic-key", "NRAK-", 20, r"[A-Z0-9]{20,}"),
        ("tailscale-key", "tskey-", 20, r"[A-Za-z0-9-]{20,}"),
        ("pulumi-token", "pul-", 40, r"[a-f0-9]{40}(?![A-Za-z0-9])"),
        ("square-token", "sq0atp- sq0csp-", 20, r"[A-Za-z0-9_-]{20,}"),
        ("onepassword-token", "ops_eyJ", 40, r"[A-Za-z0-9+/=_-]{40,}"),
        ("age-key", "AGE-SECRET-KEY-1", 40, r"[A-Z0-9]{40,}"),
        ("password-hash", "$2a$ $2b$ $2y$", 56, r"\d\d\$[./A-Za-z0-9]{53}"),
        ("password-hash", "$apr1$ $1$ $5$ $6$ $y$", 24, r"(?:[^\s$:\"']{1,40}\$){1,2}[./A-Za-z0-9]{22,}"),
        ("jwt", "eyJ", 17, r"(?<![_-]eyJ)[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)*+"),
    )
)  # fmt: skip
"""(kind, beginnings, least, rest): the pattern of what follows a beginning, and its least number of characters."""
_SHAPES = (
    ("aws-access-key", "IA",  # in two lines
     r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))A(?:KI|SI)A(?=(?:\s*[A-Z0-9]){16}(?![A-Za-z0-9]))(?=[A-Z\s]{,99}\d)"
     r"[A-Z0-9]*\s*\n\s*[A-Z0-9]+"),
    ("azure-client-secret", "Q~", r"(?<![A-Za-z0-9_.~-])[A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{30,}"),
    ("telegram-token", ":AA",
     r"(?:(?<![A-Za-z0-9])|(?<=bot)|(?<=\\[nrt]))[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    ("terraform-token", ".atlasv1.", r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,}"),
    ("cookie", "\t/", r"\t(?:TRUE|FALSE)\t/[^\t\n]*\t(?:TRUE|FALSE)\t\d+\t[^\t\n]+\t([^\s]{6,4096})"),  # a file of curl
    # The digits after the `:` may be a port: `ssh://git:22@h`, `http://localhost:8080@2x.png`.
    ("url-password", "://",
     r"://[^\s/@:\"'<>\[]{0,128}(?:(?<!//git)(?<!//localhost)(?<!//127\.0\.0\.1)|(?!:\d{1,5}@))"
     r":(?!\d{1,5}@\dx\.)([^\s/\"'<>]{1,256})@(?=[^\s@])"),
    # A password that contains a `/`: the characters before the slash are no port.
    ("url-password", "://",
     r"://[^\s/@:\"'<>\[]{0,128}:(?!\d*/)([^\s@/\"'<>]{1,128}/[^\s@\"'<>]{1,256})@(?=[\w.-]+(?:[:/?\s\"',)]|\Z))"),
    ("url-password", "@tcp(", r"(?<![\w.-])[\w.-]{1,64}:([^\s:@\"'/\]]{1,128})@tcp\("),
    ("url-password", "@unix(", r"(?<![\w.-])[\w.-]{1,64}:([^\s:@\"'/\]]{1,128})@unix\("),
    # of a wallet; by itself such a number is the hash of a block or a transaction
    ("private-key", "0x",
     r"(?i)(?<![a-z])(?:accounts|pk|wallet\(|(?:private|secret|deployer|wallet|signer|owner|admin|operator|relayer)"
     r"[ _-]?(?:key|pk))(?:s|_[a-z]{2,20})?[\"'`]?(?:[ \t]{0,3}(?:is|was|=>?|:|,|\())?[ \t\[\"'`]{0,4}"
     r"(0x[0-9a-f]{64})(?![0-9a-f])"),
    ("password", ":5432:",
     r"(?m)(?:^|(?<=[\s\"']))[^\s:#\"']{1,128}:5432:[^\s:]{1,64}:[^\s:]{1,64}:([^\s:\"']{3,128})(?=[\s\"']|$)"),
)  # fmt: skip
"""(kind, anchor, pattern): a text with a secret of this shape contains the anchor."""


_TOKEN_BYTES = bytes(c if c < 128 and (chr(c).isalnum() or chr(c) in "+/_-") else 32 for c in range(256))
"""Maps every byte that no token contains to a blank."""


def find_formed(text: str, lower: str, fresh: str) -> list[Span]:
    """The (start, end, kind) of each secret known by its form; `fresh` are the words that may contain a token."""
    spans: list[Span] = []
    for kind, beginnings, least, rest in _FORMS:
        for beginning in beginnings:
            if beginning in fresh:
                spans += _find_beginnings(text, kind, beginning, least, rest)
    if "-----BEGIN" in text:
        spans += _find_private_keys(text)
    for kind, anchor, pattern in _SHAPES:
        if anchor in text and (anchor != "://" or "@" in text):
            spans += _find_matches(text, kind, pattern)
    if "@" in text and "://" in text:
        user = r"://([\w-]{16,300})(?::[^\s/@]{0,100})?@(?!\S{0,40}ingest)"
        spans += [span for span in _find_matches(text, "url-password", user) if _is_url_token(text[span[0] : span[1]])]
    if "bearer" in lower or "basic" in lower:
        header = r"(?i:b(?<![a-z0-9]b)(?:earer|asic)[ \t]{1,4})([A-Za-z0-9._~+/=-]{8,}+)"
        found = _find_matches(text, "authorization", header)
        spans += [span for span in found if _is_credential(text[span[0] : span[1]])]
    return spans + _find_cookies(text) if "cookie" in lower else spans


def _find_beginnings(text: str, kind: str, beginning: str, least: int, rest: str) -> list[Span]:
    """The tokens with this beginning.

    A beginning such as `sk-` counts if no letter or digit precedes it; after `\\n`, in JSON in a log, it counts too.
    """
    spans: list[Span] = []
    at = text.find(beginning)
    while at >= 0:
        end = at + len(beginning)
        before = text[max(0, at - 6) : at] if beginning[0].isalnum() else ""
        is_escaped = before[-2:] in ("\\n", "\\r", "\\t") or before[-3:-2] == "%" or before[:2] == "\\u"
        is_inside = before[-1:].isalnum() and before[-1:].isascii() and not is_escaped
        behind = text[end : end + least]
        if not is_inside and len(behind) == least and behind.split() == [behind]:
            match = compiled(rest).match(text, end)
            if match is not None:
                start, end = match.span(1) if match.lastindex else (at, match.end())
                spans += [] if _is_example(text[start:end]) else [(start, end, kind)]
        at = text.find(beginning, end)
    return spans


def _find_matches(text: str, kind: str, pattern: str) -> list[Span]:
    matches = compiled(pattern).finditer(text)
    spans = [match.span(match.lastindex or 0) for match in matches]
    return [(start, end, kind) for start, end in spans if not _is_example(text[start:end])]


def _is_example(value: str) -> bool:
    """Whether a value is a placeholder, or ends like an example of a token: `…xxxxxxxxxxxx`."""
    return is_placeholder(value) or (len(value) > 16 and len(set(value[-12:])) == 1)


def _find_private_keys(text: str) -> list[Span]:
    """Each PEM block of a private key.

    The body of a block that was cut off consists of header lines (RFC 1421) and runs of base64. A run has 16 characters
    or more, so that the prose after the cut stays; the last line may be shorter if it ends the text or is padded.
    """
    label = r"(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    gap = r"(?:[\s\"'+,]|\\[nrt\\])"
    block = (
        rf"-----BEGIN {label}(?:(?:(?!-----BEGIN)[\s\S]){{0,20000}}?-----END {label}"
        rf"|(?:{gap}{{0,8}}(?:Proc-Type|DEK-Info|Version|Comment): ?[^\n\\]{{0,120}})*+"
        rf"(?:{gap}{{0,40}}+(?:[A-Za-z0-9+/]{{16,}}+=*+|[A-Za-z0-9+/]{{1,15}}+(?:=+|\Z)))*+)"
    )
    min_chars = 43 + 16  # of the first line and of a run
    matches = compiled(block).finditer(text)
    return [(*match.span(), "private-key") for match in matches if len(match.group()) >= min_chars]


def _find_cookies(text: str) -> list[Span]:
    """The values of cookies that are named after a session, a login or a token, or are random."""
    secrets = ("sess", "sid", "auth", "token", "jwt", "csrf", "xsrf", "login", "remember")
    cookie = compiled(r"(?<![^\s;:\"',])([A-Za-z0-9_.$-]{1,64})=([^\s;,\"']{1,4096})")
    spans: list[Span] = []
    for line in compiled(r"(?i:cookie[\"'\\]{0,3}[:=]|set-cookie[\"'\\]{0,3},)[^\n]*").finditer(text):
        for match in cookie.finditer(text, line.start() + 6, line.end()):
            name, value = match.group(1).lower(), match.group(2)
            is_named = len(value) >= 6 and any(part in name for part in secrets)
            if (is_named or is_random(value)) and not is_placeholder(value):
                spans.append((*match.span(2), "cookie"))
    return spans


def _is_url_token(user: str) -> bool:
    """Whether the user of a URL is a token: with two or more numbers among its letters, `-` and `_`."""
    if not is_strong(user):
        return False
    numbers = compiled("[0-9]+").findall(user)
    size = sum(map(len, numbers))
    return (len(numbers) > 1 and size > 2) or (size > 7 and user.isalnum())


def _is_credential(value: str) -> bool:
    """Whether the word after `Bearer` or `Basic` is a credential and not prose ("basic authentication")."""
    if any(map(str.isdigit, value)):
        return len(value) >= 12
    return len(value) >= 16 and not value.islower() and not value.istitle()


MIN_TOKEN = 24  # characters below which no bare token is judged: more are hashes and identifiers than secrets
MIN_IN_TEMPORARY = 40  # in a folder for temporary files, whose names are random
_WORD_RUN = r"(?<![A-Z])[A-Z][a-z]{2,}|[A-Z]{3,}|[a-z]{3,}"
# Ids of RDS, the beginning of those of GitHub's GraphQL, and what its old ones encode.
_NODE_ID = r"(?:db|cluster)-[A-Z\d]{26}\Z|[A-Z]{1,5}_kw[A-Z]|\d{2,3}:[A-Z][A-Za-z]+\d"
# Public by design: content hashes, key fingerprints, public keys, publishable keys, mangled symbols of compilers, the
# ids of model providers.
_PUBLIC = (
    "sha1-", "sha256-", "sha384-", "sha512-", "AAAAB3NzaC1", "AAAAC3NzaC1lZDI1NTE5", "AAAAE2VjZHNh", "AAAAGnNr",
    "AAAAInNr", "pk_live_", "pk_test_", "toolu_", "msg_", "call_", "req_", "resp_", "chatcmpl-", "fc_", "rs_", "run_",
    "thread_", "asst_", "srvtoolu_", "agent_msg_", "REDACTED",
    "nonce-", "MFkwEwYHKoZI", "MHYwEAYHKoZI", "MIGbMBAGByqGSM49", "MIIBIjAN", "MIICIjAN",
    "MIIBojAN", "MIGfMA0G", "MCowBQYDK2V", "MFYwEAYHKoZI", "_ZN", "_ZK", "_ZT", "_ZS", "_ZL", "__ZN", "_RN", "_RI",
)  # fmt: skip


def has_random(words: set[str], find: Find) -> bool:
    """Whether one of the words by itself contains a random token, even if its surroundings make it public."""
    long = [word for word in words if len(word) >= MIN_TOKEN and not (word.isalpha() or word.islower())]
    return any(find_random(word, find) for word in long)


def find_random(text: str, find: Find) -> list[Span]:
    """The random tokens of a text. The path of a URL is left alone."""
    shown = text
    if "-----BEGIN" in text:  # certificates and public keys are public
        labels = r"(?:CERTIFICATE(?: REQUEST)?|(?:RSA )?PUBLIC KEY|X509 CRL)"
        shown = compiled(rf"-----BEGIN {labels}-----(?:(?!-----BEGIN)[\s\S])*?-----END").sub(
            lambda match: " " * len(match.group()), text
        )
    mapped = shown.encode("ascii", "replace").translate(_TOKEN_BYTES).decode("ascii")
    labels_of_sums = ("sha256:", "sha384:", "sha512:", "sha256=", "sha384=", "sha512=", "h1:", ";base64,")
    # how images, fonts, sounds, PDF and archives begin in base64
    files = (
        "iVBORw0KGgo", "/9j/4", "R0lGOD", "UklGR", "d09GMg", "d09GRg", "T1RUTw", "AAABAA", "SUQz", "JVBERi0", "UEsDB",
        "H4sIA", "PHN2Zy",
    )  # fmt: skip
    spans: list[Span] = []
    at = 0
    # each long word is found after the previous long word, since no shorter word between them contains it
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
        if _is_public(word) or text[max(0, start - 8) : start].lower().endswith(labels_of_sums):
            continue
        if len(word) >= 64 and word.startswith(files):
            continue
        tokens: list[tuple[int, int]] = []
        if "/" in word:
            tokens = _in_path(text, word, start)
        elif is_random(word) and (len(word) >= MIN_IN_TEMPORARY or not _is_temporary(text, start, word)):
            tokens = [(start, at)]
        if tokens and not _is_published(text, start, at, find):
            spans += [
                (*token, "high-entropy")
                for token in tokens
                if token == (start, at) or not _is_published(text, *token, find)
            ]
    return spans


def _is_published(text: str, start: int, end: int, find: Find) -> bool:
    """Whether the random token at start..end is public by its form or by the name before it."""
    word, before = text[start:end].lstrip("-"), text[max(0, start - 64) : start].lower()
    size = len(word)
    named = before.removesuffix('w/"').rstrip(" \t\"'`:=>\\")  # a weak ETag
    names = (
        "public_key", "public-key", "publickey", "public key", "pubkey", "pub_key", "verifykey", "verify_key",
        "etag", "if-none-match", "peer", "-version-id", "-id-2", "request-id", "sec-websocket-accept",
        "sec-websocket-key",
    )  # fmt: skip
    if word.startswith(_PUBLIC) or compiled(_NODE_ID).match(word) or named.endswith(names):
        return True
    base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    is_address = (size == 46 and word.startswith("Qm")) or (word[0] in "13" and 26 <= size <= 35)  # IPFS, Bitcoin
    if is_address and not word.strip(base58):
        return True
    if size in (33, 44) and word[0] in "10":  # the id of a document
        kinds = ("doc", "sheet", "drive", "folder", "slide", "form", "google", "file")
        if any(kind in before for kind in kinds):
            return True
    return size <= 4_096 and _is_encoded_text(word, find)


def _is_encoded_text(word: str, find: Find) -> bool:
    """Whether a word is base64 of several words in ASCII without a secret, or of JSON: the header of a token."""
    from binascii import Error, a2b_base64

    plain = word.replace("-", "+").replace("_", "/")
    if word.startswith("eyJ"):
        plain = plain[: len(plain) // 4 * 4 or None]  # it may be cut
    try:
        text = a2b_base64(plain + "=" * (-len(plain) % 4)).decode("ascii")
    except (Error, UnicodeDecodeError):
        return False
    is_text = len(text.split()) > 1 or text.startswith('{"') or compiled(_NODE_ID).match(text)
    return len(text) >= 12 and bool(is_text) and " ".join(text.split()).isprintable() and not find(text)


def _in_path(text: str, word: str, start: int) -> list[tuple[int, int]]:
    """A token with slashes that is base64 as a whole, or the random parts between the slashes of a path."""
    before = _word_before(text, start)
    in_url = "://" in before and "?" not in before and "#" not in before
    parts = word.split("/")
    if word.startswith("//") or in_url or all(len(part) == 20 for part in parts):  # a build id of Go has such parts
        return []
    temporary = _is_temporary(text, start, word)
    whole = word[0] not in "/-" and not temporary and len(parts) <= 2 + len(word) // 16
    if whole and not any(map(_is_folder, parts)) and is_random(word) and not any(map(_is_public, parts)):
        return [(start, start + len(word))]
    min_chars = MIN_IN_TEMPORARY if temporary else MIN_TOKEN
    spans = []
    for part in parts:
        if len(part) >= min_chars and not _is_public(part) and is_random(part):
            spans.append((start, start + len(part)))
        start += len(part) + 1
    return spans


def _is_folder(part: str) -> bool:
    """Whether a part between slashes consists of words, as a folder's name does: then the rest is no base64."""
    # words and a number after them, a number or a time, a hash; without what chance puts between two slashes of base64
    name = rf"(?:{_WORD_RUN})*\d{{0,8}}\Z|v?[\dTZ]*[TZ][\dTZ]*\Z|[0-9a-f]{{6,64}}\Z"
    return len(part) >= 4 and all(map(compiled(name).match, part.replace("_", "-").split("-")))


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


def _is_temporary(text: str, start: int, word: str) -> bool:
    """Whether the token at `start` belongs to a path through a folder for temporary files."""
    folders = ("/tmp/", "/tmp.", "/var/folders/", "/dev/shm/", "/data/app/~~", "\\Temp\\", "/Temp/")  # noqa: S108
    path = _word_before(text, start) + word
    return any(folder in path for folder in folders)


def is_random(token: str) -> bool:
    """Whether a token has upper and lower case and digits, few word-like runs, and the entropy of chance.

    A word-like run is three or more letters of one case, or a capital and what follows it. This misses some
    5 % of the random base62 tokens of 24 characters, 2 % of those of 32; in 33 MB of Python sources, five names pass.
    """
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
    max_share = 0.75 if len(numbers) > 1 else 0.6  # all digits are together in `WriteI32BE` or `exception-2017`
    words = sum(map(len, compiled(_WORD_RUN).findall(token)))
    if not digits or digits * 3 > size * 2 or words > size * max_share:
        return False
    min_entropy = 3.6  # bits per character; 24 random base62 characters have 4.2 on average
    repeated = size - len(set(token)) + 1  # occurrences of a single character, at most
    if log2(size) - repeated * log2(repeated) / size < min_entropy:  # a lower bound: the entropy may be too low
        shares = [token.count(char) / size for char in set(token)]
        if -sum(share * log2(share) for share in shares) < min_entropy:
            return False
    # words, each perhaps with a capital, and a number after them; a number or a time; a hash, also as bundlers write it
    name = (
        rf"(?:{_WORD_RUN}|[A-Z][a-z]|[a-z]{{2}}\Z)*\d{{0,14}}\Z|v?[\dTZ]*[TZ][\dTZ]*\Z|[0-9a-f]{{6,64}}\Z"
        r"|[A-Z0-9]{8}\Z"
    )
    parts = token.replace("/", "-").replace("_", "-").split("-")
    # fewer than 17 characters outside of words and numbers are the random end of a name
    return sum(len(part) for part in parts if not compiled(name).match(part)) >= 17
