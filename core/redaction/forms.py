"""Finds secrets that are known by their own form: the tokens of providers, PEM blocks, credentials in URLs, headers
and cookies. A pattern is compiled only where one of its anchors stands.

A new form is a row of `SHAPES`, and an anchor in the quick look of `core.redaction` where it may have no digit. Each
pattern is linear: an unbounded run is possessive, ends the match, or begins only at a boundary.
"""

from __future__ import annotations

from core.redaction.tokens import is_random
from core.redaction.values import Span, compiled, is_placeholder, is_strong

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# A prefix counts where no letter or digit precedes it; a literal backslash-n (JSON in a log) is a boundary too.
_LEFT = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_URLSAFE = r"[A-Za-z0-9_-]"

SHAPES: tuple[tuple[str, tuple[str, ...], int, str], ...] = (
    ("aws-access-key", ("AKIA", "ASIA", "ABIA", "ACCA"), 16,
     _LEFT + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])"),
    ("aws-bedrock-key", ("ABSK",), 40, _LEFT + r"ABSK[A-Za-z0-9+/]{40,}=*"),
    ("google-api-key", ("AIza",), 30, r"AIza" + _URLSAFE + r"{30,}"),
    ("google-oauth", ("ya29.", "GOCSPX-", "1//0"), 20,
     r"ya29\.[A-Za-z0-9._-]{20,}|GOCSPX-" + _URLSAFE + r"{20,}|" + _LEFT + r"1//0" + _URLSAFE + r"{30,}"),
    ("azure-client-secret", ("Q~",), 30, r"(?<![A-Za-z0-9_.~-])[A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{30,}"),
    ("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), 20,
     r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{22,}"),
    ("gitlab-token", ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "glsoat-",
      "gloas-"), 20,
     r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,})*+"),
    ("slack-token", ("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-"), 10,
     r"xox[abcdeoprs]-[A-Za-z0-9%-]{10,}"),
    ("slack-token", ("xoxe.xox", "xapp-"), 10, r"(?:xoxe\.xox[bp]|xapp)-[A-Za-z0-9-]{10,}"),
    ("slack-webhook", ("hooks.slack.com/",), 20, r"hooks\.slack\.com/[a-z]{1,12}/([A-Za-z0-9/_+-]{16,})"),
    ("stripe-key", ("sk_live_", "rk_live_", "sk_test_", "rk_test_"), 10, r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    ("stripe-key", ("whsec_",), 20, r"whsec_[A-Za-z0-9+/=]{20,}"),
    ("anthropic-key", ("sk-ant-",), 20, r"sk-ant-" + _URLSAFE + r"{20,}"),
    ("openrouter-key", ("sk-or-",), 20, _LEFT + r"sk-or-" + _URLSAFE + r"{20,}"),
    ("openai-key", ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"), 20,
     _LEFT + r"sk-(?:proj|svcacct|admin|None)-" + _URLSAFE + r"{20,}"),
    ("openai-key", ("sk-",), 20, _LEFT + r"sk-(?=[A-Za-z]{0,48}[0-9])[A-Za-z0-9]{20,}"),
    ("huggingface-token", ("hf_", "api_org_"), 30, _LEFT + r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("npm-token", ("npm_",), 36, _LEFT + r"npm_[A-Za-z0-9]{36,}"),
    ("pypi-token", ("pypi-Ag",), 30, r"pypi-Ag" + _URLSAFE + r"{30,}"),
    ("rubygems-token", ("rubygems_",), 40, r"rubygems_[a-f0-9]{40,}"),
    ("sendgrid-key", ("SG.",), 40, _LEFT + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,}"),
    ("twilio-key", ("SK",), 32, _LEFT + r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("mailgun-key", ("key-",), 32, _LEFT + r"key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("telegram-token", (":AA",), 33,
     r"(?:(?<![A-Za-z0-9])|(?<=bot)|(?<=\\[nrt]))[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    ("discord-webhook", ("/api/webhooks/",), 30, r"/api/webhooks/[0-9]{10,24}/([A-Za-z0-9_-]{30,})"),
    ("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), 32, r"do[opr]_v1_[a-f0-9]{32,}"),
    ("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_"), 32, r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32,}"),
    ("databricks-token", ("dapi",), 32, _LEFT + r"dapi[a-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])"),
    ("linear-key", ("lin_api_", "lin_oauth_", "lin_wh_"), 30, r"lin_(?:api|oauth|wh)_[A-Za-z0-9]{30,}"),
    ("notion-token", ("secret_", "ntn_"), 40, _LEFT + r"(?:secret|ntn)_[A-Za-z0-9]{40,}"),
    ("vault-token", ("hvs.", "hvb.", "hvr."), 20, _LEFT + r"hv[sbr]\." + _URLSAFE + r"{20,}"),
    ("vault-token", ("s.",), 24, r"(?<![A-Za-z0-9_.)\]])s\.(?=[A-Za-z]{0,23}[0-9])[A-Za-z0-9]{24}(?![A-Za-z0-9_.(])"),
    ("doppler-token", ("dp.pt.", "dp.st.", "dp.sa.", "dp.ct.", "dp.scim.", "dp.audit."), 40,
     _LEFT + r"dp\.(?:pt|st|sa|ct|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"),
    ("fly-token", ("fo1_", "fm1r_", "fm1a_", "fm2_"), 30, _LEFT + r"(?:fo1|fm1[ar]|fm2)_[A-Za-z0-9+/=,_-]{30,}"),
    ("supabase-key", ("sbp_", "sb_secret_"), 20, _LEFT + r"(?:sbp_[a-f0-9]{40,}|sb_secret_[A-Za-z0-9_-]{20,})"),
    ("groq-key", ("gsk_",), 40, _LEFT + r"gsk_[A-Za-z0-9]{40,}"),
    ("xai-key", ("xai-",), 40, _LEFT + r"xai-[A-Za-z0-9]{40,}"),
    ("perplexity-key", ("pplx-",), 40, _LEFT + r"pplx-[A-Za-z0-9]{40,}"),
    ("replicate-token", ("r8_",), 32, _LEFT + r"r8_[A-Za-z0-9]{32,}"),
    ("tavily-key", ("tvly-",), 24, _LEFT + r"tvly-[A-Za-z0-9-]{24,}"),
    ("figma-token", ("figd_",), 30, _LEFT + r"figd_" + _URLSAFE + r"{30,}"),
    ("docker-token", ("dckr_pat_", "dckr_oat_"), 20, r"dckr_[po]at_" + _URLSAFE + r"{20,}"),
    ("grafana-token", ("glsa_",), 32, _LEFT + r"glsa_[A-Za-z0-9]{32}(?:_[A-Fa-f0-9]{8})?"),
    ("grafana-token", ("glc_",), 32, _LEFT + r"glc_[A-Za-z0-9+/=]{32,}"),
    ("atlassian-token", ("ATATT3", "ATCTT3"), 40, r"AT[AC]TT3[A-Za-z0-9_=-]{40,}"),
    ("sentry-token", ("sntrys_", "sntryu_"), 40, r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    ("brevo-key", ("xkeysib-", "xsmtpsib-"), 64, r"x(?:key|smtp)sib-[a-f0-9]{64}(?:-[A-Za-z0-9]{8,})?"),
    ("postman-key", ("PMAK-",), 40, r"PMAK-[a-f0-9-]{40,}"),
    ("newrelic-key", ("NRAK-",), 20, r"NRAK-[A-Z0-9]{20,}"),
    ("tailscale-key", ("tskey-",), 20, r"tskey-[A-Za-z0-9-]{20,}"),
    ("pulumi-token", ("pul-",), 40, _LEFT + r"pul-[a-f0-9]{40}(?![A-Za-z0-9])"),
    ("terraform-token", (".atlasv1.",), 40, r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\." + _URLSAFE + r"{40,}"),
    ("square-token", ("sq0atp-", "sq0csp-"), 20, r"sq0(?:atp|csp)-" + _URLSAFE + r"{20,}"),
    ("onepassword-token", ("ops_eyJ",), 40, r"ops_eyJ[A-Za-z0-9+/=_-]{40,}"),
    ("age-key", ("AGE-SECRET-KEY-1",), 40, r"AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    ("password-hash", ("$apr1$", "$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$"), 24,
     r"\$(?:2[aby]\$\d\d\$[./A-Za-z0-9]{53}|(?:apr1|[156y])\$(?:[^\s$:\"']{1,40}\$){1,2}[./A-Za-z0-9]{22,})"),
    ("jwt", ("eyJ",), 20,
     r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)*+"),
)  # fmt: skip
"""(kind, anchors, tail, pattern): `tail` is how many characters without white space must follow the anchor."""
_ANCHORS = frozenset(anchor for _, anchors, _, _ in SHAPES for anchor in anchors)
_INNER = frozenset(["azure-client-secret", "telegram-token", "terraform-token"])
"""Kinds whose anchor does not stand at the beginning."""
_BEFORE, _BEHIND = 200, 300
"""Characters before such an anchor, and from it, that decide whether there is a secret."""

_PEM_LABEL = r"(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
# The body of a block that was cut off: header lines of RFC 1421, then runs of base64. A run is 16 characters or longer,
# so that the prose after the cut stays; the last line of the key may be shorter where it ends the text or is padded.
_PEM_GAP = r"(?:[\s\"'+,]|\\[nrt\\])"
_PEM = (
    rf"-----BEGIN {_PEM_LABEL}(?:(?:(?!-----BEGIN)[\s\S]){{0,20000}}?-----END {_PEM_LABEL}"
    rf"|(?:{_PEM_GAP}{{0,8}}(?:Proc-Type|DEK-Info|Version|Comment): ?[^\n\\]{{0,120}})*+"
    rf"(?:{_PEM_GAP}{{0,40}}+(?:[A-Za-z0-9+/]{{16,}}+=*+|[A-Za-z0-9+/]{{1,15}}+(?:=+|\Z)))*+)"
)
_LEAST_PEM = 43 + 16
_BEARER = r"(?i:b(?<![a-z0-9]b)(?:earer|asic)[ \t]{1,4})([A-Za-z0-9._~+/=-]{8,}+)"
# The digits behind the `:` may be a port: `ssh://git:22@h`, `http://localhost:8080@2x.png`.
_URL_USER = (
    r"://[^\s/@:\"'<>\[]{0,128}(?:(?<!//git)(?<!//localhost)(?<!//127\.0\.0\.1)|(?!:\d{1,5}@))"
    r":(?!\d{1,5}@\dx\.)([^\s/\"'<>]{1,256})@(?=[^\s@])"
)
# A password with a `/` within: what stands before that is no port.
_URL_SLASHED = (
    r"://[^\s/@:\"'<>\[]{0,128}:(?!\d*/)([^\s@/\"'<>]{1,128}/[^\s@\"'<>]{1,256})@(?=[\w.-]+(?:[:/?\s\"',)]|\Z))"
)
_URL_ALONE = r"://([\w-]{16,300})(?::[^\s/@]{0,100})?@(?!\S{0,40}ingest)"
_DSN_USER = r"(?<![\w.-])[\w.-]{1,64}:([^\s:@\"'/\]]{1,128})@(?:tcp|unix)\("
_PGPASS = r"(?m)(?:^|(?<=[\s\"']))[^\s:#\"']{1,128}:5432:[^\s:]{1,64}:[^\s:]{1,64}:([^\s:\"']{3,128})(?=[\s\"']|$)"
# A key id on two lines; one line of a cookie jar (Netscape, curl).
_AWS_WRAPPED = _LEFT + r"A(?:KI|SI)A(?=(?:\s*[A-Z0-9]){16}(?![A-Za-z0-9]))(?=[A-Z\s]{,99}\d)[A-Z0-9]*\s*\n\s*[A-Z0-9]+"
_JAR_COOKIE = r"\t(?:TRUE|FALSE)\t/[^\t\n]*\t(?:TRUE|FALSE)\t\d+\t[^\t\n]+\t([^\s]{6,4096})"
_COOKIES = r"(?i:cookie[\"'\\]{0,3}[:=]|set-cookie[\"'\\]{0,3},)[^\n]*"
_COOKIE_PAIR = r"(?<![^\s;:\"',])([A-Za-z0-9_.$-]{1,64})=([^\s;,\"']{1,4096})"
_SESSIONS = ("sess", "sid", "auth", "token", "jwt", "csrf", "xsrf", "login", "remember")


def find_formed(text: str, lower: str, fresh: str) -> list[Span]:
    """The (start, end, kind) of each secret that is known by its form; `fresh` are the words that may hold a token."""
    spans: list[Span] = []
    present = {anchor for anchor in _ANCHORS if anchor in fresh}
    for kind, anchors, tail, pattern in SHAPES if present else ():
        if not present.isdisjoint(anchors) and any(_has_tail(fresh, one, tail) for one in anchors if one in present):
            spans += _shaped(text, kind, anchors, pattern, _BEFORE if kind in _INNER else 0)
    if "-----BEGIN" in text:
        spans += [span for span in _matches(text, "private-key", _PEM) if span[1] - span[0] >= _LEAST_PEM]
    spans += _shaped(text, "aws-access-key", ("AKIA", "ASIA"), _AWS_WRAPPED)
    spans += _matches(text, "cookie", _JAR_COOKIE) if "TRUE\t" in text or "FALSE\t" in text else []
    if "@" in text and "://" in text:
        spans += _matches(text, "url-password", _URL_USER) + _matches(text, "url-password", _URL_SLASHED)
        spans += [span for span in _matches(text, "url-password", _URL_ALONE) if _is_made(text[span[0] : span[1]])]
    spans += _shaped(text, "url-password", ("@tcp(", "@unix("), _DSN_USER, _BEFORE)
    spans += _shaped(text, "password", (":5432:",), _PGPASS, _BEFORE)
    if _has_tail(lower, "bearer ", 8) or _has_tail(lower, "basic ", 8):
        spans += [span for span in _matches(text, "authorization", _BEARER) if _is_credential(text[span[0] : span[1]])]
    for line in compiled(_COOKIES).finditer(text) if "cookie" in lower else ():
        for match in compiled(_COOKIE_PAIR).finditer(text, line.start() + 6, line.end()):
            value = match.group(2)
            named = len(value) >= 6 and any(part in match.group(1).lower() for part in _SESSIONS)
            if (named or is_random(value)) and not is_placeholder(value):
                spans.append((*match.span(2), "cookie"))
    return spans


def _has_tail(text: str, anchor: str, tail: int) -> bool:
    """Whether the anchor stands somewhere with `tail` characters without white space behind it."""
    at = text.find(anchor)
    while at >= 0:
        at += len(anchor)
        behind = text[at : at + tail]
        if len(behind) == tail and behind.split() == [behind]:
            return True
        at = text.find(anchor, at)
    return False


def _shaped(text: str, kind: str, anchors: tuple[str, ...], pattern: str, before: int = 0) -> list[Span]:
    """The secrets of a shape that begins with one of its anchors, or so many characters `before` it at most."""
    spans: list[Span] = []
    for anchor in anchors:
        done, at = 0, text.find(anchor)
        form = compiled(pattern) if at >= 0 else None
        while form is not None and at >= 0:
            place = form.search(text, max(done, at - before), at + _BEHIND) if before else None
            match = form.match(text, at if place is None else place.start())
            if match is not None:
                spans += _span(match, kind)
                done = match.end()
            at = text.find(anchor, max(done, at + 1))
    return spans


def _matches(text: str, kind: str, pattern: str) -> list[Span]:
    return [span for match in compiled(pattern).finditer(text) for span in _span(match, kind)]


def _span(match: re.Match[str], kind: str) -> list[Span]:
    """Where the secret of a match stands; nothing where it is a placeholder, or ends as examples of tokens do."""
    group = match.lastindex or 0
    value = match.group(group)
    filled = is_placeholder(value) or (len(value) > 16 and len(set(value[-12:])) == 1)
    return [] if filled else [(*match.span(group), kind)]


def _is_made(user: str) -> bool:
    """Whether what stands for a user in a URL is a token: two and more numbers among its letters, `-` and `_`."""
    if not is_strong(user):
        return False
    numbers = compiled("[0-9]+").findall(user)
    size = sum(map(len, numbers))
    return (len(numbers) > 1 and size > 2) or (size > 7 and user.isalnum())


def _is_credential(value: str) -> bool:
    """Whether the word behind `Bearer` or `Basic` is a credential and not prose ("basic authentication")."""
    if any(map(str.isdigit, value)):
        return len(value) >= 12
    return len(value) >= 16 and not value.islower() and not value.istitle()
