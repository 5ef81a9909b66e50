"""Secrets that a plain name, a program of its own or another language tells, or whose `=` and quotes are encoded.

`«…»` marks what must vanish, and nothing else may change.
"""

from __future__ import annotations

import pytest

from core.redaction import redact

TOLD = r"""
pass: «hunter2»
password «hunter2»
my root password «hunter22x», as ever
passwords: «hunter22x», «panda77x»
the passwords are «hunter22x» and «panda77x»
the old password «hunter22x» was replaced by «panda77xy»
the old password «hunter22x» was replaced
Password:\n\n    «Xk29vbQp77»
mot de passe : «Kiw1fru1t»
Le mot de passe est «Kiw1fru1t»
contraseña: «Kiw1fru1t»
la contraseña es «Kiw1fru1t»
senha: «Kiw1fru1t»
DB_SENHA=«Kiw1fru1t»
wachtwoord: «Kiw1fru1t»
пароль: «Kiw1fru1t»
Пароль «Kiw1fru1t9X», вот
密码: «Kiw1fru1t»
密码：«Kiw1fru1t»
密码是«Kiw1fru1t»
パスワード: «Kiw1fru1t»
"""
NAMED = r"""
SSHPASS=«Lem0nade22»
export SSHPASS='«Lem0nade22»'
REDISCLI_AUTH=«r3disP4ss»
GITHUB_PAT=«a1b2c3d4e5f6g7h8»
kubectl create secret generic x --from-literal=dbpw='«Kiw1fru1t»'
psk="«Kiw1fru1t99»"
password%3D«Kiw1fru1t»
user%3Dann%26password%3D«Kiw1fru1t»%26x%3D1
{"q": "password\\u003d«Kiw1fru1t»"}
{&quot;user&quot;:1,&quot;password&quot;:&quot;«Kiw1fru1t»&quot;}
id xkeysib-⟦⟧«0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef-aBcD1234eFgH5678» there
"""
GIVEN = r"""
sqlplus scott/«t1gerLily»@db
sqlplus -s "scott/«t1gerLily»@db"
jdbc:oracle:thin:scott/«t1gerLily»@//db:1521/x
openssl enc -aes-256-cbc -k «Kiw1fru1t» -in a
useradd -m -p «Kiw1fru1t» bob
rabbitmqctl add_user bob «Kiw1fru1t»
rabbitmqctl -n x change_password bob '«Kiw1 fru1t»'
plink -ssh ann@h -pw «Kiw1fru1t» ls
lftp -u bob,«Kiw1fru1t» ftp.h
composer config http-basic.repo.h ann «Kiw1fru1t»
composer config --global github-oauth.github.com «Kiw1fru1t»
wrangler secret put X <<< '«Kiw1fru1t»'
docker login -u ann --password-stdin <<<"«Kiw1fru1t»"
fly secrets set A_KEY=«Kiw1fru1t»
fly secrets set DSN="«Kiw1 fru1t»" B=«Zorb22xx» -a app\nB=Zorb33xx
"""
KEPT = r"""
password field
password reset2 is not there
the password hash1 column
password field2
password manager2
password v2
password sha256
pass: playwright
pass: 12
pass: test_login0
passwords: they must be 8 characters
passwords: hunter, panda
the old password was replaced by a passkey
The passwords are hashed with argon2id
senhas e contraseñas
contraseña: campo requerido
пароль: обязательное поле
import senha2 from x
psk=none
SSHPASS=$PW
GITHUB_PAT=${GITHUB_PAT}
_HEX_PAT = "[0-9A-Fa-f]{1,4}"
sqlplus / as sysdba
sqlplus scott/$PW@db
openssl enc -k $PW -in a
openssl genrsa -out a.key 2048
useradd -m bob
rabbitmqctl list_users
fly secrets list
cat <<< "plain text 12"
https://h.test/?next=%2Fpassword%3Drequired
a &amp; b &quot;password&quot; reset
"""


def items(table: str) -> list[str]:
    lines = [line.replace("\\\\", "\0").replace("\\n", "\n").replace("⟦⟧", "") for line in table.strip().splitlines()]
    return [line.replace("\0", "\\") for line in lines]


@pytest.mark.parametrize("item", items(TOLD + NAMED.lstrip() + GIVEN.lstrip()))
def test_the_value_vanishes_and_nothing_else(item: str) -> None:
    parts = item.replace("»", "«").split("«")
    if "xkeysib-" in item:  # the mark names it
        parts[0] = parts[0].removesuffix("xkeysib-")
    clean, kinds = redact(item.replace("«", "").replace("»", ""))
    head, *rest = clean.split("[redacted:")
    assert [head, *(part.partition("]")[2] for part in rest)] == parts[::2]
    assert len(kinds) == len(parts) // 2 and redact(clean) == (clean, ())


@pytest.mark.parametrize("text", items(KEPT))
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert redact(text) == (text, ())
