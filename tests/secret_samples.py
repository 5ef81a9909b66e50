"""Secrets and things that only look like one, for every test that writes text through a command.

Each secret is put together at run time, so that no scanner flags this file; the form is that of the provider. `fill` is
a fixed draw: the same in every run.
"""

import random
import string
from typing import NamedTuple


class Sample(NamedTuple):
    """A text that holds a secret, and the part of it that must vanish."""

    name: str
    text: str
    secret: str


_DRAW = random.Random(20_417)
B62 = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
B64 = B62 + "+/"
URLSAFE = B62 + "-_"
UPPER = string.ascii_uppercase + "234567"


def fill(size: int, alphabet: str = B62) -> str:
    """`size` characters of the alphabet with at least one letter and one digit, not beginning or ending in a sign."""
    letter = next(char for char in alphabet if char.isalpha())
    digit = next(char for char in alphabet if char.isdigit())
    return letter + "".join(_DRAW.choice(alphabet) for _ in range(size - 2)) + digit


def _alone(name: str, secret: str) -> Sample:
    return Sample(name, f"then it answered {secret} and went on", secret)


def _in(name: str, template: str, secret: str) -> Sample:
    return Sample(name, template.replace("@@", secret), secret)


def _pem(label: str, gap: str = "\n", end: bool = True) -> str:
    lines = [fill(64, B64) for _ in range(4)] + [fill(30, B64) + "=="]
    head = "-----" + "BEGIN " + label + "-----"
    return gap.join([head, *lines, *(["-----" + "END " + label + "-----"] if end else [])])


_JWT = "ey" + "J" + fill(33, URLSAFE) + "." + "ey" + "J" + fill(60, URLSAFE) + "." + fill(43, URLSAFE)
_KEY = "PRIVATE" + " KEY"
_AUTHORIZATION = "Author" + "ization"

_PROVIDERS: tuple[Sample, ...] = (
    _alone("aws access key id", "AK" + "IA" + fill(16, UPPER)),
    _alone("aws temporary key id", "AS" + "IA" + fill(16, UPPER)),
    _alone("google api key", "AI" + "za" + fill(35, URLSAFE)),
    _alone("google oauth", "ya" + "29." + fill(60, URLSAFE)),
    _alone("google client secret", "GOC" + "SPX-" + fill(28, URLSAFE)),
    _alone("google refresh token", "1/" + "/0" + fill(60, URLSAFE)),
    _alone("azure client secret", fill(3) + "8" + "Q~" + fill(34)),
    *(_alone(f"github {kind}", "gh" + kind + "_" + fill(36)) for kind in "pousr"),
    _alone("github fine-grained", "github" + "_pat_" + fill(22) + "_" + fill(59)),
    _alone("gitlab", "gl" + "pat-" + fill(20, URLSAFE)),
    *(_alone(f"slack xox{kind}", "xo" + f"x{kind}-" + "2" * 11 + "-" + "3" * 12 + "-" + fill(24)) for kind in "abprs"),
    _alone("slack app", "xa" + "pp-1-" + "A0" + fill(9, UPPER) + "-" + "4" * 12 + "-" + fill(64, HEX)),
    _in(
        "slack webhook",
        "post to https://hooks.slack" + ".com/services/@@ when red",
        "T0" + "A1B2C3D/B0" + "D4E5F6G/" + fill(24),
    ),
    *(_alone(f"stripe {kind}", kind + "_" + fill(24)) for kind in ("sk_" + "live", "rk_" + "live", "sk_" + "test")),
    _alone("stripe webhook", "wh" + "sec_" + fill(32)),
    _alone("openai", "sk" + "-" + fill(48)),
    _alone("openai project", "sk" + "-proj-" + fill(74, URLSAFE) + "T3Blbk" + "FJ" + fill(74, URLSAFE)),
    _alone("anthropic", "sk" + "-ant-api03-" + fill(93, URLSAFE) + "AA"),
    _alone("openrouter", "sk" + "-or-v1-" + fill(64, HEX)),
    _alone("hugging face", "h" + "f_" + fill(34)),
    _alone("npm", "np" + "m_" + fill(36)),
    _alone("pypi", "py" + "pi-AgEIcHlwaS5vcmc" + fill(120, URLSAFE)),
    _alone("sendgrid", "S" + "G." + fill(22, URLSAFE) + "." + fill(43, URLSAFE)),
    _alone("twilio key", "S" + "K" + fill(32, HEX)),
    _in("twilio auth token", "TWILIO_AUTH_TOKEN=@@", fill(32, HEX)),
    _alone("telegram", "7712345678" + ":A" + "A" + fill(33, URLSAFE)),
    _in("telegram url", "https://api.telegram.org/bot@@/getMe", "7712345678" + ":A" + "A" + fill(33, URLSAFE)),
    _alone("discord bot", "MTE4" + fill(22) + "." + fill(6) + "." + fill(38, URLSAFE)),
    _in("discord webhook", "https://discord.com/api/" + "webhooks/118432198712349876/@@", fill(68, URLSAFE)),
    _alone("digitalocean", "do" + "p_v1_" + fill(64, HEX)),
    _alone("shopify", "sh" + "pat_" + fill(32, HEX)),
    _alone("databricks", "da" + "pi" + fill(32, HEX)),
    _alone("linear", "lin" + "_api_" + fill(40)),
    _alone("notion old", "sec" + "ret_" + fill(43)),
    _alone("notion", "nt" + "n_" + fill(46)),
    _alone("vault", "hv" + "s." + fill(95, URLSAFE)),
    _alone("doppler", "dp" + ".pt." + fill(43)),
    _alone("fly", "fm" + "2_" + fill(120, B64)),
    _alone("supabase", "sb" + "p_" + fill(40, HEX)),
    _alone("groq", "gs" + "k_" + fill(52)),
    _alone("age", "AGE-" + "SECRET-KEY-1" + fill(58, UPPER)),
    _alone("jwt", _JWT),
)
_PEMS: tuple[Sample, ...] = (
    *tuple(
        _alone(f"pem {label.split()[0].lower()}", _pem(label))
        for label in (
            "RSA " + _KEY, "EC " + _KEY, "DSA " + _KEY, "OPENSSH " + _KEY, "ENCRYPTED " + _KEY, _KEY,
            "PGP " + _KEY + " BLOCK",
        )
    ),
    _alone("pem with literal newlines", _pem(_KEY, gap="\\n")),
    Sample("pem cut off", "the file began " + (cut := _pem("RSA " + _KEY, end=False)), cut.split("\n", 1)[1]),
    _in("google service account", '{"type": "service_account", "private_' + 'key": "@@\\n"}', _pem(_KEY, gap="\\n")),
)  # fmt: skip
_HEX32 = fill(32, HEX)
_LOW = "hunter2" + "horse"
_ASSIGNED: tuple[Sample, ...] = (
    _in("aws secret key", "aws_secret_access_key = @@", fill(40, B64)),
    _in("aws secret key json", '{"SecretAccessKey": "@@"}', fill(40, B64)),
    _in(
        "azure account key",
        "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=@@;EndpointSuffix=core.windows.net",
        fill(86, B64) + "==",
    ),
    _in("azure sas", "https://shop.blob.core.windows.net/c/a.txt?sv=2022-11-02&sig=@@&se=2026-01-01", fill(40) + "%3D"),
    _in("password tight", "password=@@", _LOW),
    _in("password passwd", "passwd: @@", _LOW),
    _in("password pg", "PGPASSWORD=@@ psql -h db", _LOW),
    _in("password pwd", "Server=db;Uid=sa;pwd=@@;Encrypt=yes", _LOW),
    _in("password letters in yaml", "db:\n  password: @@\n  port: 5432", "letmein" + "please"),
    _in("password in toml", "password = '@@'", "correct horse battery " + "staple"),
    _in("password with signs", "DB_PASSWORD=@@", "p@ss,w0" + "rd;x!y"),
    _in("password json", '{"user": "ann", "password": "@@", "port": 1}', "s3cr\\" + '"et' + "-9"),
    _in("password escaped json", '"{\\"password\\": \\"@@\\"}"', _LOW),
    _in("password flag", "mysqladmin --password @@ status", _LOW),
    _in("password flag equals", "tool --password=@@ run", _LOW),
    _in("password mysql attached", "mysql -u root -p@@ shop", _LOW),
    _in("password mysql quoted", "mysql -u root -p'@@' shop", _LOW),
    _in("password xml", "<password>@@</password>", _LOW),
    _in("password python", 'connect(host="db", password="@@")', _LOW),
    _in("password typed", 'password: str = "@@"', _LOW),
    _in("password in prose", "the password: @@ worked for staging", "Tr0ub4" + "dor&3"),
    _in("secret", "secret=@@", "topsecret" + "value9"),
    _in("client secret camel", '"clientSecret": "@@"', _HEX32),
    _in("token", "token=@@", _HEX32),
    _in("token env", "export FOO_TOKEN=@@", "abc-def" + "-12345"),
    _in("token env quoted", "export FOO_TOKEN='@@'", "abc-def" + "-12345"),
    _in("token yaml", "auth_token: @@", _HEX32),
    _in("api key quoted", 'api_key: "@@"', _HEX32),
    _in("api key header", "X-Api-Key: @@", _HEX32),
    _in("api key spaced", "API key: @@", _HEX32),
    _in("api key flag", "--api-key @@ --verbose", _HEX32),
    _in("typesense key", "TYPESENSE_API_KEY=@@", fill(48)),
    _in("env key", "STRIPE_KEY=@@", _HEX32),
    _in("rails", "SECRET_KEY_BASE=@@", fill(128, HEX)),
    _in("npmrc", "//registry.npmjs.org/:_authToken=@@", "3f2a9c1b-0000-4000-8000-" + "1234567890ab"),
    _in("bearer header", _AUTHORIZATION + ": Bearer @@", fill(30)),
    _in("bearer curl", f"curl -H '{_AUTHORIZATION}: Bearer @@' https://x.dev/a", fill(20, HEX)),
    _in("basic header", _AUTHORIZATION + ": Basic @@", "dXNlcjpod" + "W50ZXIy"),
    _in("token header", _AUTHORIZATION + ": token @@", _HEX32),
    _in("authorization json", '{"' + _AUTHORIZATION + '": "Bearer @@"}', fill(30)),
    _in("bearer bare", "sent bearer @@ with it", fill(24)),
    _in("curl user", "curl -u ann:@@ https://x.dev", _LOW),
    _in("cookie", "Cookie: theme=dark; sessionid=@@; lang=en", fill(26)),
    _in("set-cookie", "Set-Cookie: connect.sid=@@; Path=/; HttpOnly", "s%3A" + fill(30)),
    _in("url credentials", "postgres://app:@@@db.internal:5432/shop", _LOW),
    _in("url credentials at sign", "postgres://app:@@@db.internal:5432/shop", "p@ss" + "w0rd"),
    _in("url credentials no user", "redis://:@@@cache:6379/0", _LOW),
    _in("query token", "GET https://x.dev/a?page=2&access_token=@@&q=z", "abc123" + "def456"),
    _in("query key", "https://maps.x.dev/js?key=@@", fill(24)),
)
_RANDOM: tuple[Sample, ...] = tuple(
    _alone(f"high entropy {size} {label}", secret)
    for size, label, secret in (
        (24, "base62", "q7Vd2LxP9mZt4" + "KcR8sWb1NfY"),
        (32, "base62", "Zk3vQ9xT1bN7" + "mR5pL2wD8hF4cJ6gY0sA"),
        (40, "base64", "wJ4lrXU7tn3F/EMI+K7" + "MDENGbPx9RfiCY2zQkLe8"),
        (44, "base64 padded", "m9Xw2Pq7Lz4Tc8Vb1Nr6" + "Ks3Hd5Jf0GyQeUaIoRtWx2B="),
        (43, "base64url", "tY7-kQ2_xW9vB4nM" + "1zL6pR3sD8fG5hJ0cA_eU2iO"),
    )
)
POSITIVE: tuple[Sample, ...] = _PROVIDERS + _PEMS + _ASSIGNED + _RANDOM


def vanishes(marked: str) -> None:
    """Asserts that of a text what stands in each `«…»` is redacted, and that all the rest stays as it is."""
    from core.redaction import redact

    parts = marked.replace("»", "«").split("«")
    clean, kinds = redact("".join(parts))
    head, *rest = clean.split("[redacted:")
    assert [head, *(part.partition("]")[2] for part in rest)] == parts[::2]
    assert len(kinds) == len(parts) // 2 and redact(clean) == (clean, ())
