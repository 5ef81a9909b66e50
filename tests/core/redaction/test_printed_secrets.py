"""Output is judged with its command or file: output of a command that prints secrets is secret."""

import json
import time
from pathlib import Path

import pytest
from claude_transcript import CWD, Transcript
from conftest import Run

from core.redaction import redact_call

SECRET = "plover-Zq9"
SECRETS = (
    SECRET,
    *"MyPass-2024 outpw_pass7788 secret-2024 Tok3n-blue monkeykey99 secret42 auth.Tide7 Credential-7z".split(),
)
FAULT = "Error: secret not found"
LONGEST_S = 20.0
"""A quadratic search of 200,000 characters takes minutes."""
PRINTING = """\
kubectl get secret tides -o jsonpath='{.data.password}' | base64 -d
op read op://prod/tides/password
vault kv get -field=password secret/tides
aws secretsmanager get-secret-value --secret-id tides --query SecretString --output text
gcloud secrets versions access latest --secret=tides
az keyvault secret show --name tides --vault-name v --query value -o tsv
pass show prod/tides
security find-generic-password -a me -s tides -w
kubectl get secret tides -o jsonpath='{.data.password}'
doppler secrets get TIDES --plain
terraform output -raw tides_password
printenv TIDES_PASSWORD
cat /run/secrets/tides
heroku config:get TIDES_URL -a app
bw get password tides
aws ssm get-parameter --name /tides --with-decryption --query Parameter.Value --output text
echo $TIDES_PASSWORD
cd /srv/app && gh auth token
make build && echo "${API_TOKEN}"
sudo pass show prod/tides | head -1
bash -lc 'gh auth token'
aws ecr get-login-password --region eu-1
gcloud auth print-access-token
op read op://prod/tides/password && op read op://prod/reefs/password
pass show prod/tides; pass show prod/reefs
""".splitlines()


@pytest.mark.parametrize("command", PRINTING)
def test_output_of_secret_printing_commands_is_redacted(command: str) -> None:
    for secret in SECRETS:
        assert redact_call(command, "", f"{secret}\n{FAULT}\n") == f"[redacted:secret]\n{FAULT}\n"


CHOOSING = """\
jq -r '.db.password' config.json
jq -r '.[0].login.password|@text' < items.json
yq '.stringData.db_password' secret.yaml
grep -oP '(?<=TIDES_PASSWORD=).*' .env
awk -F= '/TIDES_PASSWORD/{print $2}' .env
sed -n 's/^TIDES_PASSWORD=//p' .env
python3 -c "import os; print(os.environ['TIDES_PASSWORD'])"
node -e 'console.log(process.env.API_TOKEN)'
consul kv get tides/db/password
etcdctl get /tides/password --print-value-only
npm config get //registry.npmjs.org/:_authToken
kubectl exec deploy/tides -- printenv TIDES_PASSWORD
ssh db1 'cat /etc/tides/password'
ssh db1 'pass show prod/tides'
mongosh --eval 'db.users.findOne().apiToken'
sqlite3 -noheader tides.db 'select api_token from account'
gopass prod/tides
keyring get tides ann
helm secrets view values.yaml
bws secret get 3f2a
scw secret version access name=tides
age -d -i key.txt tides.age
ruby -e 'p ENV["TIDES_PASSWORD"]'
perl -e 'say $ENV{TIDES_PASSWORD}'
mysql -N -e 'table tides_password'
cat tides_password.txt
tail -1 /etc/tides/token.txt
node -p "require('./tides.json').mail.pass"
redis-cli hget tides api_token
aws dynamodb get-item --table-name tides --query Item.token.S --output text
heroku auth:token
kubectl create token tides
kubectl config view --raw -o jsonpath='{.users[0].user.token}'
terraform output tides_password
awk -F: '/tides/{print $3}' ~/.docker-creds
tail -n1 ~/secrets/tides
./scripts/get-token.sh tides
head -c 24 /dev/urandom | base64
python3 -c 'import secrets; print(secrets.token_urlsafe(12))'
pwgen -s 16 1
rclone reveal YhsT8Kq2ZmLw
vault write -f -field=secret_id auth/approle/role/tides/secret-id
""".splitlines()


@pytest.mark.parametrize("command", CHOOSING)
def test_output_selected_by_a_secrets_name_is_redacted(command: str) -> None:
    for secret in SECRETS:
        redacted = redact_call(command, "", f'"{secret}"\nthe end of it\n{FAULT}\n')
        assert secret not in redacted and f"the end of it\n{FAULT}" in redacted


@pytest.mark.parametrize(("command", "output"), [
    ("sudo cat /etc/postfix/sasl_passwd", "[h.test]:587  ann@h.test:«e717b485dda7-b56c65fb»\n"),
    ("cat /etc/exim4/passwd.client", "h.test:ann@h.test:«Plover55x»"),
    ("cat ~/.credentials", "TIDES\\ann «Plover!Bay9»"),
    ("cat config/master.key", "«9f8e7d6c5b4a39281706f5e4d3c2b1a0»"),
    ("bin/reset-password -u elastic", "Password was reset.\nNew value: «sNpZ3k+7fTqXw2aLm9Rb»"),
    ("nmcli -s -g 802-11-wireless-security.psk connection show Tides", "«Plover 3. Bay»"),
])  # fmt: skip
def test_part_of_a_line_of_a_secrets_file_is_redacted(command: str, output: str) -> None:
    plain = output.replace("«", "").replace("»", "")
    ends = output.partition("«")[0], output.rpartition("»")[2]
    assert redact_call(command, "", plain) == f"{ends[0]}[redacted:secret]{ends[1]}"


def test_a_secret_with_a_typed_prefix_is_redacted() -> None:
    assert redact_call("jq -r .mail.secret tides.json", "", "key-82kLmqW0vx\n") == "[redacted:secret]\n"


def test_a_file_named_after_a_secret_is_redacted() -> None:
    assert SECRET not in redact_call("", "/etc/tides/db_password.txt", f"     1\t{SECRET}\n")
    code = "     1\tpassword2\n     2\texport2();"
    assert redact_call("", "src/db_password.ts", code) == code


@pytest.mark.parametrize("command", ["chamber exec tides -- env", "ansible-vault view group_vars/vault.yml"])
def test_output_of_a_secret_store_with_its_own_names_is_redacted(command: str) -> None:
    redacted = redact_call(command, "", f"PATH=/usr/bin\nTIDES_PIN={SECRET}\n{FAULT}\n")
    assert redacted == f"PATH=/usr/bin\nTIDES_PIN=[redacted:secret]\n{FAULT}\n"


@pytest.mark.parametrize(("command", "output"), [
    ("grep -rl password src", "src/auth/v2.py\nREADME2.md"),
    ("grep -c password src/a.py", "12"),
    ("grep -rhoE 'token_[a-z0-9]+' src", "token_v2\ntoken_x9"),
    ("gh secret list", "DEPLOY_V2"),
    ("npm run get-secret", "compiled-2ab.js"),
    ("docker secret inspect tides", '"ID": "x1y2z3w4"'),
    ("git log -1 --format=%h --grep password", "a1b2c3d"),
    ("cat src/token.ts", "export2{\n}x9;"),
    ("jq -r '.usage.output_tokens' a.json", "b12c3x9"),
    ("jq -r '.secret.name' a.json", "tides-db-v2"),
    ("cut -d: -f1 /etc/passwd", "www-data\nuser1000"),
    ("env | grep TOKEN | cut -d= -f1", "API_TOKEN2\nTOKEN_4"),
    ("joelclaw vault read password", "harbour-2\nabc123x"),
    ("kubectl get secret -n app; kubectl get pod -o name", "pod/api-7d9f8b6c5-x2x9z"),
    ("kubectl get secret -o yaml; kubectl get pod -o name", "kind: List\npod/api-7d9f8b6c5-x2x9z"),
    ("vault read -field=x secret/db; git branch --show-current", "feature/tide-7b"),
    ("kubectl create secret generic x; helm list -q | head", "release-7d9f8b"),
    ("grep -l secret -r . | head -1; ls -1 dist | head", "joelclaw-1.4.0-py3"),
    ("gh secret list | head; git log --format=%h-%s | head", "abc123d-Fix_thing"),
    ("jq -r '.tokens | keys[]' a.json", "plover-v9\nb12c3x9"),
    ("doppler configs tokens --json | jq -r '.[].name'", "ci-runner2"),
    ("vault policy read token-admin2", "b12c3x9"),
    ("sha1sum ~/.token | cut -c1-8", "8f2c1b7d"),
    ('curl -s -H "Authorization: Bearer $TOKEN" https://h/p | jq -r ".[].slug"', "web-app2\napi-v3"),
    ("kubectl get secret db -o jsonpath='{.metadata.resourceVersion}'", "812731"),
    ("kubectl create secret generic tides", "secret/app-v2 created"),
    ("aws secretsmanager describe-secret --query ARN --output text", "arn:aws:s:eu-1:1:secret:x-AbC1d2"),
    ("psql -c 'select id, token_type from tokens'", " id  | token_type \n a1b | bearer2"),
    ("go test -run TestToken ./...", "ok  \th.test/App2x\t0.004s"),
    ("docker run -d --name auth-token tides", "9f3c2b1a7d8e4f506172"),
    ("grep -o 'func Test.*' src/token_test.go", "TestTokenExpiresIn30Days"),
    # code, prose and lists of tokens
    ("sed -n 1,20p src/auth/password", "def f(x1: R2D2x9k3) -> str:\n    return x1"),
    ("cat docs/secrets", "the droid R2D2x9k3 is in the second film"),
    ("less secrets", "web-7d9f8c5b4d-Xk2p9 running 3 pods"),
    ("cat README.token", "see RFC6749a2 for it"),
    ("consul acl token list", "AccessorID:  8f246b77-f3e1-ff88-5b48-8ec93abf3e05\nPolicies2: a1b2c3"),
    ("nomad acl token list", "Bootstrap  management  a1b2c3d4"),
    # other commands
    ("echo $TOKEN_COUNT", "42"),
    ("git config user.email", "ada@tides.example"),
    ("kubectl get secrets", "NAME TYPE DATA AGE\ntides Opaque 2 3d"),
    ("grep -rn password src", "src/a.py:3: password = get()"),
    ("cat secrets/readme.md", "Read this first"),
    ("make test && echo $API_KEY", "3 passed in 2 s\nsrc/key.py ok"),
    ("pass ls", "Password Store\nprod"),
    ("pass show", "Password Store\n├── db-2\n└── mail9x"),
    ("pass show prod", "├── tides-db2\n└── tides-mail3x"),
    ("gh auth token | docker login ghcr.io -u ann --password-stdin", "Login Succeeded"),
    ("gh auth status", "github.com\n  - Logged in to github.com account ann2x (keyring)\n  - Active account: true"),
    ("gh auth token", "no oauth token found for github.com"),
    # an output of two commands, of which one prints a secret
    (
        "echo $API_KEY && go test ./...",
        "src/a.go:3: undefined: load\n--- FAIL: TestLoad (0.01s)\nok  tide/load 0.2s",
    ),
    ('echo "pass=$pass fail=$fail"', "pass=1200 fail=3000"),
    ("for key in $(ls src); do echo $key; done", "alpha.py\nbeta-2.py"),
    ("kubectl get secrets -o wide", "NAME TYPE DATA AGE\ntides Opaque 2 3d"),
])  # fmt: skip
def test_output_of_other_commands_stays(command: str, output: str) -> None:
    assert redact_call(command, "", output) == output


@pytest.mark.parametrize(("command", "output"), [
    ("op item get tides --format json", '{"id":"a1b2","title":"tides","value":"plover-Zq9"}'),
    ("bw get item tides", '{"object":"item","name":"tides","fields":[{"name":"pin","value":"plover-Zq9"}]}'),
    ("aws secretsmanager get-secret-value --secret-id t", '{\n  "Name": "t",\n  "SecretString": "plover-Zq9"\n}'),
    ("az account get-access-token", '{"accessToken": "plover-Zq9", "tokenType": "Bearer"}'),
])  # fmt: skip
def test_json_keeps_its_form_and_its_public_fields(command: str, output: str) -> None:
    redacted = redact_call(command, "", output)
    assert SECRET not in redacted
    assert sorted(json.loads(redacted)) == sorted(json.loads(output))
    assert redacted.count("[redacted:") <= 2


@pytest.mark.parametrize("line", ["a: " + ", " * 100_000, '{"a":"' + '\\"' * 100_000, "{" + '"a":"bcde",' * 20_000])
def test_a_long_line_takes_linear_time(line: str) -> None:
    began = time.process_time()
    redact_call("op read op://a/b", "", line)
    assert time.process_time() - began < LONGEST_S


def test_what_a_command_prints_of_a_secret_is_neither_stored_nor_recalled(run: Run, home: Path, tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "before.jsonl")
    transcript.user("look why the tides do not connect")
    for number, command in enumerate(PRINTING):
        transcript.used(f"c{number}", "Bash", f"{SECRET}\n{FAULT} in harbour_{number}", command=command)
    transcript.used("r", "Read", f"     1\t{SECRET}", file_path="/run/secrets/tides")
    run("memory", "archive", str(transcript.path))
    assert [path.name for path in home.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()] == []
    answer = run("recall", f"harbour_3 {CWD}").json
    assert SECRET not in json.dumps(answer) and answer["result"]["hits"]


def test_printed_secrets_are_redacted_if_the_output_arrives_later(run: Run, home: Path, tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "before.jsonl")
    transcript.user("look why the tides do not connect")
    for tool, arguments in (("Bash", {"command": PRINTING[0]}), ("Read", {"file_path": "/run/secrets/tides"})):
        transcript.call(tool, tool, **arguments)
        run("memory", "archive", str(transcript.path))
        transcript.outcome(tool, f"Exit code 1\n{SECRET}", failed=True)
        run("memory", "archive", str(transcript.path))
    assert [path.name for path in home.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()] == []
