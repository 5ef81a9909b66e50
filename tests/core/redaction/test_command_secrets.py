"""What a command is given, fed or prints: by program and option, in quotes, through a pipe, and how far that reaches.

`«…»` marks what must vanish, and nothing else may change.
"""

from __future__ import annotations

import pytest
from secret_samples import vanishes

from core.redaction import redact

WORDS = r"""
docker login "h" -u ann -p «x1y2z3»
docker login "h" \\\n  -p «x1y2z3»
{"run": "docker login registry.h.test -p \\"«x1 y2z3»\\" -u ann"}
{"run": "docker login registry.h.test -p \\\\\\"«x1 y2z3»\\\\\\" -u ann"}
{"run": "x\\nredis-cli -a «simple1» get"}
/usr/bin/redis-cli -a «simple1» get
sshpass -p «x1y2z3» /usr/bin/redis-cli -a «simple1» get
(redis-cli -a «simple1» get)
$(redis-cli -a «simple1» get)
x;redis-cli -a «simple1» get
x|redis-cli -a «simple1» get
`redis-cli -a «simple1» get`
'redis-cli' -a «simple1» get
redis-cli -a «1abcdef» get
redis-cli -a «x1y» get
redis-cli -a «XYZxyz» get
redis-cli --pass=«simple1» get
redis-cli --pass='«simple 1»' get
redis-cli --pass="«simple1»" get
7z x -p'«a b1c»' f
7z x "-p«ab12cd»" f
twine upload -p «x1y2z3» d
smbclient //h/s -U 'ann%«pin tail»'
http --auth ann:«pintail» GET h
htpasswd -cb /h ann «x1y2z3»
htpasswd -b /h htpasswd «x1y2z3»\nhtpasswd -b /h ann «x1y2z4»
docker run -p8080:80 mysql; mysql -p«hunter22»
foo -p"«hunter22x»" bar
foo -p'«hunter22x»' bar
ConvertTo-SecureString «x1y2z3» -AsPlainText
openssl enc -pass pass:'«gravel Dove1»' -in x
{"run": "openssl enc -pass pass:\\"«gravel Dove1»\\" -in x"}
openssl enc -passin pass:«gravel1» -passout pass:«gravel2»
openssl enc -pass pass:no -pass pass:«gravel2»
vault login «ab12345678901234»
x; plink h -pw «abc»
put-secret <<< «x1y2»\ncat <<< z9z9\nset token <<< «x1y3»
fly secrets set A=«x1y2»\nB=zz99\nfly secrets set B=«x1y3»
"""
KEPT_WORDS = r"""
docker login "h"\n -p x1y2z3
{"run": "docker login h\\n -p x1y2z3"}
docker login "h"; run -p x1y2z3
docker login "h" | run -p x1y2z3
docker login "h" & run -p x1y2z3
(docker login "h") -p x1y2z3
xredis-cli -a simple1 get
redis-cli2 -a simple1 get
redis-cli -a x1 get
redis-cli -a [x1y2z3 get
redis-cli -a --pipe1 get
redis-cli -b simple1 get
docker login -p 8080:80 h
twine check -p x1y2z3 d
http -a ann GET h
http -a ann:$PW GET h
pulumi config set db hemlock7
pulumi config set -b --plaintext db hemlock7
htpasswd /h ann x1y2z3
htpasswd -b /h ann
mysql:8 -phunter22x
openssl enc -pass pass:'ab1\n2cd' -in x
vault login ab1234567890123
vault login method=ab1234567890123
vault login abcdefghijklmnopqrst
plink h -pw ab
plink h -pw PASSPHRASES
xplink h -pw abc1
secret\ncat <<< x1y2z3
cat <<< x1y2z3
"""
PIPED = r"""
printf '%s' «x1y2z3» | gpg --passphrase-fd 0
echo -n «x1y2z3» | gh auth login --with-token
echo ann «x1y2z3» | sudo -S ls
echo '«ann:x1y2z3»' | sudo -S ls
echo «x1y2z3» | chpasswd
echo «x1y2z3» | sudo -S a && echo «x1y2z4» | sudo -S b
x\necho «x1y2z3» | sudo -S a
"""
KEPT_PIPED = r"""
echo hunter22x\nls | sudo -S ls
printf '%s' | sudo -S ls
echo hunter22x; sudo -S ls
echo -n | sudo -S ls
hunter22x | sudo -S ls
"""
PRINTED = r"""
base64 -d secret\n«ab12cd»
base64 --decode secret\n«ab12cd»
base64 -D secret\n  «ab12cd»  \nx
op read op://v/i/p\n«ab12cd»
vault kv get -field=x a\n«ab12cd»
vault read -field=x a\n«ab12cd»
aws secretsmanager get-secret-value --query x\n«ab12cd»
gcloud secrets versions access latest\n«ab12cd»
az keyvault secret show --query value\n«ab12cd»
security find-generic-password -w x\n«ab12cd»
pass show x\n«ab12cd»
pass show x\nab\npass show x\n«ab12cd»
"""
KEPT_PRINTED = r"""
base64 -d secret\nab12c
base64 -d secret\nab12cd ef
base64 -d secret\n/ab12cd
base64 -d secret\n.ab12cd
base64 -d secret\n{ab12cd
base64 -d secret\n[ab12cd
base64 -d secret\n$AB12CD
base64 -d secret\n1234567
base64 -d secret\nabcdefg
base64 -d secret
base64 -d secret\n\nab12cd
base64 -d x\nab12cd
secret\nbase64 -d x\nab12cd
gcloud versions access x\nab12cd
"""


def lines(*tables: str) -> list[str]:
    return [line.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\") for table in tables
            for line in table.strip().splitlines()]  # fmt: skip


@pytest.mark.parametrize("line", lines(WORDS, PIPED, PRINTED))
def test_the_value_vanishes_and_nothing_else(line: str) -> None:
    vanishes(line)


@pytest.mark.parametrize("text", lines(KEPT_WORDS, KEPT_PIPED, KEPT_PRINTED))
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert redact(text) == (text, ())
