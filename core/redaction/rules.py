"""The tables of the redaction: the forms of tokens, the options of commands, and the words that announce a secret.

The pre-check of `core.redaction` searches every text for the anchors of these rows, so a row needs no other entry. An
anchor without capitals is found in any case. Hot path: the patterns are strings until a finder compiles them.
"""

from __future__ import annotations

ANNOUNCING = ("pass", "pw", "secret", "token", "key", "auth", "credential")
NAME_PARTS = (*ANNOUNCING, "kennwort", "sig", "_salt", "psk", "_pat")
"""Every name that announces a secret contains one of these."""
KEYWORDS = (*NAME_PARTS, "cookie", "bearer", "basic", "identified")
"""A text that has nothing but plain words around these contains no secret."""
LOGINS = tuple(
    "creds|credentials|login|logins |log in |logged in |logging in |sign in |zugang|accès|identifiants|credencia|acceso"
    "|/pass|:pass|ssh into|ssh to|test account|test user|demo user|admin user| / ".split("|")
)
"""What announces a user's name with a password."""
CALLS = (
    "mysqli(", "mysqli_connect(", "mysql_connect(", "getConnection(", "PDO(", ".login(", "Auth(", "basic_auth(",
    "auth=(", "auth = (", "Credential(", "Credentials(", "jwt.sign(", "jwt.verify(", "createHmac(",
)  # fmt: skip
"""How a call that takes a password begins."""
FOREIGN = frozenset((
    "mot de passe", "senha", "contraseña", "contrasena", "wachtwoord", "hasło", "пароль", "密码", "密碼", "口令", "mdp",
    "パスワード", "비밀번호", "parola", "lösenord", "adgangskode", "passord", "salasana", "heslo", "key content",
))  # fmt: skip
"""The word for "password" in other languages."""

FORMS = tuple(
    (kind, tuple(beginnings.split()), rest)
    for kind, beginnings, rest in (
        ("aws-access-key", "AKIA ASIA ABIA ACCA",  # perhaps in two lines
         r"(?:[A-Z0-9]{16}(?![A-Z0-9])|(?=(?:\s*[A-Z0-9]){16}(?![A-Za-z0-9]))(?=[A-Z\s]{,99}\d)"
         r"[A-Z0-9]*\s*\n\s*[A-Z0-9]+)"),
        ("google-api-key", "AIza", r"[A-Za-z0-9_-]{30,}"),
        ("google-oauth", "ya29. GOCSPX- 1//0", r"[A-Za-z0-9_-]{20,}"),
        ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"[A-Za-z0-9_]{20,}"),
        ("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- gloas-",
         r"[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,})*+"),
        ("slack-token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxc- xoxd- xapp-", r"[A-Za-z0-9%-]{10,}"),
        ("slack-webhook", "hooks.slack.com/", r"[a-z]{1,12}/([A-Za-z0-9/_+-]{16,})"),
        ("stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_ whsec_", r"[A-Za-z0-9+/=]{10,}"),
        ("anthropic-key", "sk-ant-", r"[A-Za-z0-9_-]{20,}"),
        ("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None- sk-or-", r"[A-Za-z0-9_-]{20,}"),
        ("openai-key", "sk-", r"(?=[A-Za-z]{0,48}[0-9])[A-Za-z0-9]{20,}"),
        ("sendgrid-key", "SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,}"),
        ("twilio-key", "SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
        ("api-key", "key-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
        ("discord-webhook", "/api/webhooks/", r"[0-9]{10,24}/([A-Za-z0-9_-]{30,})"),
        ("teams-webhook", "/IncomingWebhook/", r"([A-Za-z0-9]{32}(?:/[A-Za-z0-9_-]{16,})*)"),
        ("zapier-webhook", "hooks.zapier.com/", r"hooks/[a-z]{2,12}/(\d{5,12}/(?!abc|xxx)[A-Za-z0-9]{5,})"),
        ("databricks-token", "dapi", r"[a-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])"),
        ("token", "hf_ api_org_ npm_ rubygems_ dop_v1_ doo_v1_ dor_v1_ shpat_ shpca_ shppa_ shpss_ lin_api_ lin_oauth_"
         " lin_wh_ secret_ ntn_ sbp_ gsk_ xai- pplx- r8_ glsa_ NRAK- AGE-SECRET-KEY-1 pul-",
         r"(?=[A-Za-z]{0,48}[0-9])[A-Za-z0-9]{26,}"),
        ("token", "hvs. hvb. hvr. pypi-Ag figd_ tvly- dckr_pat_ dckr_oat_ tskey- sq0atp- sq0csp- sb_secret_ ATATT3"
         " ATCTT3 sntrys_ sntryu_ PMAK- xkeysib- xsmtpsib- ops_eyJ", r"[A-Za-z0-9+/=_-]{20,}"),
        ("token", "fo1_ fm1r_ fm1a_ fm2_ glc_", r"[A-Za-z0-9+/=,]{30,}"),
        ("password-hash", "$2a$ $2b$ $2y$", r"\d\d\$[./A-Za-z0-9]{53}"),
        ("password-hash", "$apr1$ $1$ $5$ $6$ $y$", r"(?:[^\s$:\"']{1,40}\$){1,2}[./A-Za-z0-9]{22,}"),
        ("jwt", "eyJ", r"(?<![_-]eyJ)[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)*+"),
    )
)  # fmt: skip
"""(kind, beginnings, rest): the pattern of what follows a beginning."""
_GAP = r"(?:[\s\"'+,]|\\[nrt\\])"
_KEY_LABEL = r"(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
SHAPES = tuple(
    (kind, tuple(anchors.split("|")), pattern)
    for kind, anchors, pattern in (
        # a block of PEM. If it was cut off, header lines (RFC 1421) and runs of base64 follow: 16 characters or more,
        # so that the prose after the cut stays; the last may be shorter if it ends the text
        ("private-key", "-----BEGIN",
         rf"-----BEGIN {_KEY_LABEL}(?:(?:(?!-----BEGIN)[\s\S]){{0,20000}}?-----END {_KEY_LABEL}"
         rf"|(?:{_GAP}{{0,8}}(?:Proc-Type|DEK-Info|Version|Comment): ?[^\n\\]{{0,120}})*+"
         rf"(?:{_GAP}{{0,40}}+(?:[A-Za-z0-9+/]{{16,}}+=*+|[A-Za-z0-9+/]{{1,15}}+(?:=+|\Z)))++)"),
        ("url-password", "jdbc:oracle:", r"jdbc:oracle:\w{1,9}:[\w.$-]{1,64}/([^\s@\"'/]{3,128})@"),
        ("telegram-token", ":AA",
         r"(?:(?<![A-Za-z0-9])|(?<=bot)|(?<=\\[nrt]))[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
        ("api-key", "-us1|-us2|-us3|-us4|-us5|-us6|-us7|-us8|-us9",
         r"(?<![A-Za-z0-9])[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])"),  # of Mailchimp
        ("cookie", " TRUE | FALSE ", r"\t(?:TRUE|FALSE)\t/[^\t\n]*\t(?:TRUE|FALSE)\t\d+\t[^\t\n]+\t([^\s]{6,4096})"),
        # The digits after the `:` may be a port: `ssh://git:22@h`, `http://localhost:8080@2x.png`.
        ("url-password", "://",
         r"://[^\s/@:\"'<>\[]{0,128}(?:(?<!//git)(?<!//localhost)(?<!//127\.0\.0\.1)|(?!:\d{1,5}@))"
         r":(?!\d{1,5}@\dx\.)([^\s/\"'<>]{1,256})@(?=[^\s@])"),
        # A password that contains a `/`: the characters before the slash are no port.
        ("url-password", "://",
         r"://[^\s/@:\"'<>\[]{0,128}:(?!\d*/)([^\s@/\"'<>]{1,128}/[^\s@\"'<>]{1,256})@(?=[\w.-]+(?:[:/?\s\"',)]|\Z))"),
        # a token instead of a user, not a name with a number: `svc-account-2024`
        ("url-password", "://",
         r"://(?=[\d_-]*[A-Za-z])((?:(?=[\w-]*?\d[A-Za-z_-]+\d)(?=(?:[A-Za-z_-]*\d){3})"
         r"|(?=(?:[A-Za-z]*\d){8}[A-Za-z\d]*[:@]))[\w-]{16,300})(?::[^\s/@]{0,100})?@(?!\S{0,40}ingest)"),
        ("url-password", "@tcp(", r"(?<![\w.-])[\w.-]{1,64}:([^\s:@\"'/\]]{1,128})@tcp\("),
        # of a wallet; by itself such a number is the hash of a block or a transaction
        ("private-key", "0x",
         r"(?i)(?<![a-z])(?:accounts|pk|wallet\(|(?:private|secret|deployer|wallet|signer|owner|admin|operator|relayer)"
         r"[ _-]?(?:key|pk))(?:s|_[a-z]{2,20})?[\"'`]?(?:[ \t]{0,3}(?:is|was|=>?|:|,|\())?[ \t\[\"'`]{0,4}"
         r"(0x[0-9a-f]{64})(?![0-9a-f])"),
        # after `Bearer` or `Basic`, unless it is a word: "basic authentication"
        ("authorization", "bearer|basic", r"(?i:b(?<![a-z0-9]b)(?:earer|asic)[ \t]{1,4})"
         r"((?=[A-Za-z._~+/=-]*\d)[A-Za-z0-9._~+/=-]{12,}+"
         r"|(?=[a-z._~+/=-]*[A-Z])(?![A-Z][a-z._~+/=-]*(?![A-Za-z0-9._~+/=-]))[A-Za-z._~+/=-]{16,}+)"),
        # the words of a wallet, and the recovery codes below a heading
        ("secret", "mnemonic|phrase",
         r"(?i:mnemonic|(?:seed|recovery)[ _-]?phrase)[\"']?(?: is|[ \t]*[:=])\s{0,8}[\"'`]?"
         r"(?!(?:[a-z]+ ){0,23}(?:the|these|words|are|your|for|from|with|and)\b)"  # of sentences, never of wallets
         r"((?:[a-z]{3,8} ){11}(?:(?:[a-z]{3,8} ){12})?[a-z]{3,8})(?=[\"'`.]|\s*+\Z|[ \t]*+\n)"),
        ("secret", "recovery code|backup code",
         r"(?i)(?:recovery|backup)[ -]codes?[^\n]{0,80}:[ \t*]*\n\s*(?=[^:]{0,24}?(?:\d[a-z]|\d{4} \d{4}))"
         r"([a-z\d]{4,10}(?:[- ][a-z\d]{4,10}){0,3}"
         r"(?:[ \t]*\n(?=[a-z -]*\d)[a-z\d]{4,10}(?:[- ][a-z\d]{4,10}){0,3}(?=\s|\Z)){1,15})"),
        # a statement in SQL; in small letters it begins with a verb
        ("password", "identified",
         r"(?:IDENTIFIED|(?i:(?:create|alter|grant) [^;]{0,160}?identified))(?i: +(?:with +\S{1,64} +)?by[ \t]{1,4}"
         r"(?:password )?)(?:(\\{0,3}[\"'`])((?:(?!\1)[^\n]){1,240})\1|((?=[^\s;]*\d)[^\s\"'<>,;)}\\]{1,240}))"),
        ("password", ":5432:",
         r"(?m)(?:^|(?<=[\s\"']))[^\s:#\"']{1,128}:5432:[^\s:]{1,64}:[^\s:]{1,64}:([^\s:\"']{3,128})(?=[\s\"']|$)"),
    )
)  # fmt: skip
"""(kind, anchors, pattern): a text with a secret of this shape contains one of the anchors."""

VALUE = r"(?:\\{0,3}'([^'\n]{1,2000}?)\\{0,3}'|\\{0,3}\"([^\"\n]{1,2000}?)\\{0,3}\"|([^\s'\"|;<>`\\]{1,4096}))"
_USER_PAIR = (
    r"(?:\\{0,3}'[^\s:%'/]{1,100}[:%]([^'\n]{1,200}?)\\{0,3}'|\\{0,3}\"[^\s:%\"/]{1,100}[:%]([^\"\n]{1,200}?)\\{0,3}\""
    r"|(?![+\[])[^\s:%\"'/]{1,100}[:%]([^\s\"'\\]{1,200}))"  # not `date -u +%Y-…`
)
_NO_WORD = r"(?![A-Z]?[a-z]+[.,;:!?]?(?:\s|\Z))"
_TO = r"\\{0,3}[\"']?[ \t,=]{1,4}"
COMMANDS = tuple(
    (tuple(programs.split("|")), tuple(needed.split("|")) if needed else (), secret)
    for programs, needed, secret in (
        ("sshpass|rdesktop|evil-winrm|netexec|nxc |useradd|usermod", "", rf"-p(?:{_TO})?{VALUE}"),
        ("mongo|cqlsh|twine upload|az login|acr login|psexec|PsExec|certutil|rabbitmqadmin", "", rf"-p{_TO}{VALUE}"),
        ("docker|podman|nerdctl |helm |skopeo |buildah |oc |cf |crane |oras |regctl ", "login",
         rf"-p{_TO}{VALUE}"),
        ("mysql|mariadb|7z|unrar|rar a", "", rf"-h?p(?![=\s-]|\d{{1,5}}(?:\s|$)){VALUE}"),
        ("sqlcmd|bcp |zip |unzip |ipmitool|mosquitto", "", rf"-P(?:{_TO})?{VALUE}"),
        ("plink|pscp|psftp", "", rf"-pw[ \t]+{VALUE}"),
        ("xfreerdp|wlfreerdp|sdl-freerdp|winrs|signtool|cmdkey|schtasks", "", rf"[/-](?:p|pass|rp)[: \t](?!/){VALUE}"),
        ("redis-cli", "", rf"(?:-a|--pass){_TO}{VALUE}"),
        ("ldap", "", rf"-w{_TO}{VALUE}"),
        ("ldappasswd", "", rf"-[sa]{_TO}{VALUE}"),
        ("snmp", "", rf"-X{_TO}{VALUE}"),
        ("snmp", "", rf"-(?:A{_TO}|c{_TO}(?!(?:public|private)\b|\S{{0,99}}/)){VALUE}"),
        ("openssl", "", rf"-(?:pass(?:in|out)? pass:|[kK][ \t]+){VALUE}"),
        ("ssh-keygen", "", rf"-[NP]{_TO}{VALUE}"),
        ("curl|http |https |smbclient|etcdctl", "", rf"(?:-[uUa]|--user|--proxy-user|--auth)(?:{_TO})?{_USER_PAIR}"),
        ("podman|skopeo |buildah ", "creds", rf"--(?:src-|dest-)?creds{_TO}{_USER_PAIR}"),
        ("az |aws |akeyless |databricks |eas ", "keyvault|securestring|secretsmanager|-secret |secrets |secret:",
         rf"--(?:(?:string-|secret-)?value|secret-string){_TO}{VALUE}"),
        ("kubectl |oc ", "secret", rf"--from-literal[= ][\"']?[\w.-]+={VALUE}"),
        ("gh ", "secret", rf"(?:--body|-b)(?:{_TO})?{VALUE}"),
        ("pulumi", "--secret", rf"set[ \t]+(?:-\S+[ \t]+)*[^\s-]\S*[ \t]+(?:-\S+[ \t]+)*{VALUE}"),
        ("vault ", "", r"(?:login|unseal)[ \t]+(?![A-Za-z]+(?:\s|$))([\w.+/-]{16,}=*)(?![^\s\"'`])"),
        ("net use", "/u|/add", rf"\S+[ \t]+(?![/\\*]){VALUE}(?=[ \t]+/(?:u(?:ser)?:|add))"),
        ("net use", "/u", rf"/u(?:ser)?:\S+[ \t]+(?:/\S+[ \t]+)*(?![/*]){VALUE}"),
        ("net user", "", rf"(?<=net user )[^\s/]\S*[ \t]+(?![/*]){_NO_WORD}{VALUE}"),
        ("security add-|security set-|security unlock-|security create-|security import", "", rf"-[opPw]{_TO}{VALUE}"),
        ("smbclient", "", rf"//\S+[ \t]+(?!-){VALUE}"),
        ("qpdf", "", rf"--encrypt[ \t]+{VALUE}"),
        ("qpdf", "", rf"--encrypt[ \t]+\S+[ \t]+{VALUE}"),
        ("op item", "concealed", rf"[^\s=]+\[concealed\]={VALUE}"),
        ("conjur variable", "", rf"-v{_TO}{VALUE}"),
        ("cargo login|snyk auth", "", rf"{_NO_WORD}([\w.+/-]{{10,}}=*)(?![^\s\"'`])"),
        ("mc ", "alias", rf"alias set(?:[ \t]+\S+){{3}}[ \t]+{VALUE}"),
        ("wpa_passphrase", "", rf"\S+[ \t]+{VALUE}"),
        ("credstash put|glab variable set|doppler secrets set|cf create-user", "",
         rf"[\w.-]+[ \t]+(?!-){_NO_WORD}{VALUE}"),
        ("chamber write", "", rf"\S+[ \t]+\S+[ \t]+{_NO_WORD}{VALUE}"),
        ("rclone ", "obscure", rf"obscure[ \t]+{VALUE}"),
        ("htpasswd|mosquitto_passwd", "",
         rf"-(?:(?=\w*b)\w*n\w*|\w*b\w*[ \t]+(?:-\w+[ \t]+)*[^\s-]\S*)[ \t]+\S+[ \t]+{VALUE}"),
        ("curl", "", r"(?:-b|--cookie)[ \t=]*[\"']?(?:[^\s;=]{1,60}=[^\s;]{0,200};[ \t]?){0,8}"
         r"[\w.-]{0,40}?(?i:sess|sid|auth|token)\w{0,40}=([^\s;\"'`$\\]{6,4096})"),
        ("lftp", "", rf"-u{_TO}[^\s,\"']{{1,64}},{VALUE}"),
        ("sqlplus|expdp|impdp", "", r"[\w.$-]{1,64}/([^\s@\"'/]{3,128})@"),
        ("ConvertTo-SecureString|ansible-vault encrypt_string", "", rf"(?:-String[ \t]+)?{VALUE}"),
        ("composer |poetry ", "http-basic.", rf"http-basic\.\S+[ \t]+\S+[ \t]+{VALUE}"),
        ("rabbitmqctl|samba-tool", "",
         rf"(?:add_user|change_password|user (?:create|add|setpassword))[ \t]+\S{{1,64}}[ \t]+{VALUE}"),
        ("tacacs-server|radius-server|snmp-server|isakmp", "",
         rf"(?:key|community) (?:\d )?(?=\S*[\d!#$%&*+@]|\S+ address){VALUE}"),
        ("impacket-|secretsdump|psexec|wmiexec|smbexec", "",
         r"[\w.-]{1,64}/[\w.$-]{1,64}:[\"']?([^\s@\"'/]{3,128})[\"']?@"),
        ("terraform |tofu |pulumi ", "key|token", r"import[ \t]+"
         r"[\w.\[\]-]*(?:api|auth|access|secret)_?(?:key|token)\S*[ \t]+([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"),
        ("keytool ", "passwd", rf"-new{_TO}{VALUE}"),
        ("consul |etcdctl|redis-cli|nmcli |npm |pnpm |yarn |pip |poetry |composer |aws |git |gcloud |gh |heroku |wp ",
         "passw|passphrase|psk|secret|token|key",
         r"(?:put|set|SET|modify|connect|config)[ \t](?:[^\s;|&]+[ \t]+){0,6}?"
         r"[\"']?[\w./:-]*(?i:passw(?:or)?d|passphrase|psk|secret|token|(?:api|access)_?key)[\w.-]*[\"']?[ \t]+"
         rf"(?![\"']?(?:\d{{1,7}}(?:ms|[smhd])?|true|false|yes|no|on|off)(?:[\"']|\s|\Z)){VALUE}"),
    )
)  # fmt: skip
"""(how the program begins, alternatives that its line must contain, the pattern of the option and the secret).

The anchors of a row are the words that it needs, or else the programs.
"""
_BELOW = r"[^\n]{0,400}\n[ \t]*((?![/.{\[<-])(?=[^\s]*\d)(?=[^\s]*[A-Za-z])\S{6,240})[ \t]*(?=\n|\Z)"
_PIPED = r"(?:e(?<![\w-]e)cho|p(?<![\w-]p)rintf)[ \t](?:[^\n|]{0,240}?[ \t])?"
PATTERNS = tuple(
    (kind, tuple(anchors.split("|")), pattern)
    for kind, anchors, pattern in (
        ("password", "-p'|-p\"", r"-p(?<=\s-p)(?:'(?! )([^'\n]{1,200})'|\"(?! )([^\"\n]{1,200})\")"),
        # a script of Expect
        ("password", "assword", r"assword[^\n]{0,40}[\s;}]{1,9}send (?:-- )?[\"{]([^\"{}\n$]{3,80}?)\\{1,2}[rn]"),
        ("secret", "::add-mask", r"::add-mask::([^\s\"'`$]{4,1024})"),  # of a workflow of GitHub
        # what a command is given instead of a file
        ("secret", "<<<", r"(?i:secret|passw|passphrase|login|token|kinit|cryptsetup|env add)[^\n]{0,160}?"
         rf"<<<[ \t]{{0,3}}(?:\$(?='))?{VALUE}"),
        # what `echo` pipes to a command that reads a password
        ("password",
         "--password-stdin|sudo -s|--passphrase-fd|--with-token|passwd|cryptsetup|kinit|secret |env add|kv put",
         rf"{_PIPED}{VALUE}[ \t]*\|[ \t]*(?:[^\n|;&]{{0,100}}?(?:--password-stdin|sudo -S|--passphrase-fd|--with-token"
         r"|(?:secret create|kv put)[ \t][^\n|]{0,200}?[ =]-(?![\w-])|secret (?:set|put)|env add )"
         r"|(?:(?:sudo|ssh|chroot|docker|podman|kubectl)[ \t](?:[^\n|;&]{0,80}?[ \t])?)?[\"']?(?:/[a-z/]*bin/)?"
         r"(?:(?!chp)[a-z]{0,4}passwd|cryptsetup|kinit)(?![\w./-]))"),
        ("password", "chpasswd", rf"{_PIPED}(?:{_USER_PAIR}|{VALUE})[ \t]*\|[^\n|;&]{{0,100}}?\bchpasswd(?![\w./-])"),
        # what a command prints on the line below
        ("secret", "secret", r"(?m)^(?=[^\n]{0,800}secret)[^\n]{0,400}?(?:base64 (?:-d|--decode|-D)|versions access)"
         + _BELOW),
        ("secret", "op read |vault |secret|find-generic-password|pass show",
         r"(?:op read |vault (?:kv get|read) -field|get-secret-value|keyvault secret show|find-generic-password"
         r"|pass show )" + _BELOW),
    )
)  # fmt: skip
"""(kind, anchors, pattern): what commands take or print, as in `SHAPES`."""
OF_COMMANDS = frozenset(("secret", "::set-output", "::save-state", "bao kv", "nomad var")).union(
    *(anchors for _, anchors, _ in PATTERNS), *(needed or programs for programs, needed, _ in COMMANDS)
)
"""The anchors of everything that `core.redaction.commands` finds."""
PRINTING = (
    "op read|op item get|op env|op inject|bw get|lpass show|pass show|gopass show|vault kv get|vault read"
    "|vault -field|keyring get|ansible-vault view|ansible-vault decrypt|aws-vault env|chamber env|chamber read"
    "|chamber export|doppler env|aws secretstring|aws get-secret-value|aws --with-decryption|aws get-login-password"
    "|aws get-session-token|aws configure get|age -d|sops -d|sops --decrypt|az get-access-token|az keys list"
    "|gcloud print-access-token|gcloud print-identity-token|security find-generic-password|kubectl get secret"
    "|kubectl get secrets|oc get secret|oc whoami -t|doppler secrets|infisical secrets|terraform output -raw"
    "|tofu output -raw|pulumi config get|heroku config|gh auth token|gpg -d|gpg --decrypt|git credential fill"
    "|openssl rand|berglas access|credstash get|secret-tool lookup|wg genkey|pwgen|apg|nmcli -s -g|teller env"
    "| secrets access| secret access| secrets view| secrets get| secret get| secret show| reveal"
    "| credentials:show| config:get| functions:config:get| acl bootstrap| acl token create| acl token read"
).split("|")
"""A program that prints a secret, nothing for any, and the words of its command."""
