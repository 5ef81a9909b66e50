"""Secrets whose name stands in a sentence, in a field of its own, or in a command (issue 13, "Named secrets").

`«…»` marks what must vanish, and nothing else may change.
"""

from __future__ import annotations

import pytest

from core.redaction import redact, redact_value

TOLD = """
the password is «hunter2»
The password is «Winter2024!» ok?
my password's «zebraCrossing7» now
I changed the password to «letmein99» yesterday
I reset it: the new password is now «Summer!2025»
it was changed from the password «Spring!25» to something else
the password was changed from «Spring!25x» to «Summer!25x» today
The old password did not work, so I changed it to «Autumn#2025» at noon
das Passwort lautet «Apfel-77» und gilt
Kennwort: «geheim12»
pw: «abc123»
PW = «Zx81Spectrum»
the pw is «tr33house» there
pass: «tulip-engine-505» there
password for user bob on host db01: «s3cr3tbob»
the secret for the webhook is «wh-sig-9d2f7c41ab» here
here is the token I got from the portal: «kx8Tq2mZr5vLw9Bn3c»
our api key is «ab12cd34ef56» there
API key «AB12cd34EF56gh78» works
use password «Sommer2024!» to log in
username bob, password «b0bIsHere!» there
I typed the password, «M0ssy-Pebble», three times
use "«Kite+204»" as the password for it
use «Kite+204» as the password for it
the passphrase is "«correct horse battery staple»"
use the passphrase `«lantern moss quiet 12»` to unlock it
password **«hunter22»** there
**Password:** «hunter22»
- **Password**: «hunter22»
Password - «hunter22»
Password → «hunter22»
| password | «hunter22» |
"""
WRITTEN = """
db:\\n  password:\\n    «next1ine»\\n  port: 1
password: >-\\n  «Next.Line.9»\\nport: 1
api_token: |\\n  «d41bc7f09e2a4417aa63»\\nport: 1
the password:\\n«Hunter22x»\\nthere
machine h login ann password «sedgewarbler»
machine h\\n  login ann\\n  password «sedgewarbler»\\n
default login ann password «marigold»
db.internal:5432:shop:shop:«cedarPlough38»
ALTER USER bob WITH PASSWORD '«abc»';
ALTER ROLE bob ENCRYPTED PASSWORD '«abcdef»' VALID UNTIL 'x'
SET PASSWORD FOR 'ann'@'h' = PASSWORD('«feldspar»')
CREATE LOGIN a WITH PASSWORD = N'«Tundra#7»', CHECK_POLICY = OFF
CREATE USER a IDENTIFIED BY "«oracle1»";
CREATE USER a IDENTIFIED WITH plug BY '«granite swan»';
create user etl identified by «Saffron58» default tablespace users
define('DB_PASSWORD', '«simple»');
define( "AUTH_KEY", "«zR]8 k!Lm^2v+Q7w@Xc{0pTzR]8 k!Lm^2v»" );
props.setProperty("keyStorePassword", "«dovecote.ash»");
VALUES ('smtp_password', '«ottermint»')
secret_string = "«simpleword»"
"SecretString": "«simpleword»"
<key>Password</key>\\n\\t<string>«simple»</string>
<add key="SmtpPassword" value="«HollyBanner»" />
<entry key="db.password">«sorrelNook79»</entry>
- name: DB_PASSWORD\\n  value: «pinecone»\\n- name: X
{"Name": "DB_PASSWORD", "Value": "«pinecone»"}
name  = "sql-admin-password"\\n  value = "«Mistral»"
variable "admin_password" {\\n  type = string\\n  default = "«thornApple»"\\n}
new mysqli("localhost", "shop", "«roanCutter7A»", "shop")
server.login("ann", "«roanCutter7A»")
requests.get(url, auth=("ann", "«roanCutter7A»"))
shop:«pochardGill33»@tcp(db:3306)/shop
https://«ghtoken0123456789abcdef»@h.test/a/b
https://«3d9b7f21c06e4a58»:x-oauth-basic@h.test/a/b
redis: {requirepass: «gableSpindle»}
"""
GIVEN = """
sshpass -p «simple» ssh root@h
sshpass -p'«simple»' ssh root@h
sudo sshpass -p "«sim ple»" scp a b
redis-cli -h h -p 6379 -a «simple» get x
$ redis-cli -a "«spruce&Mallow8»" info
docker login h -u robot -p «c58e0b7d»
["CMD", "mysqladmin", "-uroot", "-p«sandpiper»"]
az keyvault secret set --vault-name v --name n --value "«Cinder!Quay»"
az keyvault secret set --value="«simple»" --name n
aws ssm put-parameter --name n --value «simple» --type SecureString
aws secretsmanager create-secret --name n --secret-string '«Fenwick^Dune»'
gh secret set DEPLOY --body «f6a31b0977» --repo a/b
pulumi config set --secret dbPw «hemlock»
htpasswd -b /etc/h ann «fluteSandal»
ldapsearch -x -D "cn=a" -w «poplar» -b "dc=b"
7z x -p«Onyx.Barley» a.7z
unzip -P «simple» a.zip
http -a ann:«pintail» GET h
curl -fsS -u 'ci:«Teasel Garth 4»' https://h
curl --user "ann:«Teasel'Garth»" https://h
smbclient //h/s -U ann%«pintail»
openssl enc -in a -pass pass:«gravelDove»
echo "«Larkspur9»" | docker login --password-stdin h
echo «simple1» | sudo -S apt update
echo 'ann:«simple1»' | chpasswd
kubectl get secret db -o json | base64 -d\\n«knotgrass5»\\n$
keytool -genkey -storepass «simple1» -keypass «simple2» -v
ENV DB_PASSWORD «simple1»
set -x GITEA_TOKEN «61f0c3b7a9d2485e»
"""


def items(table: str) -> list[str]:
    return [line.replace("\\n", "\n").replace("\\t", "\t") for line in table.strip().splitlines() if "«" in line]


@pytest.mark.parametrize("item", items(TOLD + WRITTEN + GIVEN))
def test_the_value_vanishes_and_nothing_else(item: str) -> None:
    parts = item.replace("»", "«").split("«")
    clean, kinds = redact("".join(parts))
    head, *rest = clean.split("[redacted:")
    assert [head, *(part.partition("]")[2] for part in rest)] == parts[::2]
    assert len(kinds) == len(parts) // 2 and redact(clean) == (clean, ())


@pytest.mark.parametrize(
    "text",
    [
        "The password is required.", "please change your password to something strong", "pw: playwright, vt: vitest",
        "your password was changed to comply with the policy", "the password is empty by default", "PASS: test_login0",
        "the password is stored in 1Password", "the token is 32 characters long", "the password is 8-64 characters",
        "the password is hashed with argon2id", "the token is sha256-hashed", "the secret is k8s, the key is x509",
        "password is `user.password2`", "the password is `undefined`", "password is $PW", "password is ${PW_1}",
        "the token is refreshed at 12:30", "the password is read from settings2.py", "the token is in /run/x1",
        "set the token to expire after 3600s", "we could set the password to null", "pass 4 to the linker",
        "the string of options to pass to 'rustfmt2'", "(pass) TargetClient19585", "class TestPass(TestPass2): ...",
        "PASSWORD_FILE=/run/secrets/db", "login(password, token2)", "password: str\n", "pw = '\\n'.join(x)",
        "passwordPlaceholder: 'x', forgotPassword: 'Forgot password?'", "getpass('Password: ')\nx = 1",
        'print("password: ", value)', 'wait for "password:" prompts of 12 hosts and "x"',
        "password:\n    required: true",
        "password:\n  - one1two", "password:\n    get_password1()\n", "KEY_PASSWORD = 'password'", "token: 'token'",
        "valueFrom:\n  secretKeyRef:\n    name: db\n    key: password\n- name: PORT\n  value: 'x8080'",
        "name: password_hash\nvalue: x1y2z3", "CREATE USER app WITH PASSWORD '<password>'", "password VARCHAR(255)",
        "a user is identified by 'email2'", "identified by `dir1`", "t('password', './data/x-1.csv')",
        "sshpass -p \"$PW\" ssh h", "sshpass -p PASSWORD ssh h", "redis-cli -a <password> ping",
        "redis-cli -a $PW ping",
        "docker run -p 8080:80 x1y2z3", "aws ssm put-parameter --name n --value Vici7 --type String",
        "az group --value x1y2",
        "docker login -u u -p password", "keytool -storepass changeit -v", "--value 42 --key name",
        "WARNING! Using --password via the CLI is insecure", "--password VALUE  the password", "--token TOKEN",
        "https://ann@git.acme.test/x", "https://svc-account-2024-prod@h.test/x", "https://x.test/place/@52.52,13.40",
        "http://ip-172-21-11-216:9026/ and a@b", "https://user:pass@host/path", "curl -u user:password https://h",
        "echo $PW | sudo -S x", "base64 -d secret\nplainword\n", "your_password_here", "token: ghp_" + "x" * 36,
        "redactions such as [redacted:password] is 12monkeys", "https://[redacted:url-password]:x1y2z3@h",
    ],
)  # fmt: skip
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert redact(text) == (text, ())


@pytest.mark.parametrize("size", [3, 580, 590, 591, 592, 700])
def test_a_long_value_is_not_cut(size: int) -> None:
    assert redact(f"sshpass -p {'ab1' * size} ssh h") == ("sshpass -p [redacted:password] ssh h", ("password",))


def test_every_command_of_a_long_line_is_seen() -> None:
    line = "sshpass -p abc1 ssh h " * 50
    assert redact(line)[0] == "sshpass -p [redacted:password] ssh h " * 50


def test_values_of_an_object_with_such_names() -> None:
    assert redact_value({"pw": "nightjar", "secret_string": "abc", "forgotPassword": "Forgot it?"}) == {
        "pw": "[redacted:password]",
        "secret_string": "[redacted:secret]",
        "forgotPassword": "Forgot it?",
    }
