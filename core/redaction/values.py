"""Judges names (keys, variables, flags, headers) and values: whether they announce or look like a secret."""

from __future__ import annotations

from core.redaction import MARK, NAME_PARTS, compiled, word_sets

Span = tuple[int, int, str]
"""The start, end and kind of a secret."""
Name = tuple[int, int, str]
"""The start, end and family of a name (see `family`)."""

LOOSE = frozenset(["password", "pw", "pass"])
"""Families whose value may be any word."""
DIGITS = frozenset("0123456789")
SIGNS = frozenset("!#$%^&*+=@~?")
NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_WORDS = word_sets({
    # Names of passwords that end in `pass` or `pw`; other words do too, like `compass` and `bypass`.
    "passwords": "requirepass userpass dbpass adminpass rootpass smtppass mailpass ftppass authpass sudopass storepass"
    " keypass dbpw masterauth userpw adminpw rootpw bindpw ldappw smtppw mypw",
    # Owners of a `PAT`; others have patterns: `HEX_PAT`.
    "pat owners": "github gitlab git gh gl ghcr azure azdo ado devops bitbucket jira snowflake databricks airtable"
    " figma release bot ci repo deploy access personal npm docker dockerhub user asana actions workflow admin webflow",
    # Verbs and adjectives before `password`: `forgotPassword`, `resetPassword`, `invalidPassword`.
    "actions": "forgot forgotten reset change show hide toggle enter check verify validate compare hash generate lost"
    " invalid wrong incorrect missing require requires has is use uses need needs no without weak get read ask",
    "key owners": "api access secret private auth account master signing signature encryption decryption encrypt crypto"
    " shared service admin anon role subscription license licence activation recovery session hmac jwt deploy webhook"
    " app write host hmac1 storage imported",
    # Before `token`: counts, limits, paging and vocabulary.
    "text tokens": "max min per num total next page continuation eos bos pad unk sep cls mask special stop first last"
    " each text word single output one input prompt completion cached current",
    "public keys": "primary foreign cache sort partition public dict idempotency object row index unique lookup map"
    " routing group publishable hot short arrow registry verify dedupe merge event",
    "qualifiers": "prod production dev staging test live old new value plain plaintext raw b64 base64 v",
    "not values": "none null nil undefined true false yes no on off empty missing required optional unset set invalid"
    " valid expired wrong str string bytes int integer number bool boolean any text varchar char object unknown never"
    " void secretstr redacted masked removed changeme changeit change-me change_me replaceme replace-me placeholder"
    " hidden todo tbd example dummy fake sample n/a na default prompt ask stdin env see the a an is are was in from"
    " x-oauth-basic hashed encrypted passwort kennwort password passwd passphrase pass pwd pw secret token key apikey"
    " api-key api_key my your value here files same-origin use-credentials present absent guest options",
    # The last word of a name of code: `Uint8Array`, `Web3Credentials`, `passwordSchema`.
    "code": "array buffer bytes str string type schema request response config options props input ref provider",
    # Words of sentences that a password of several words does not have.
    "sentence": "password passwords passwort kennwort passcode token your you my our the is are was must should may can"
    " cannot please enter invalid forgot for of with than least characters not no does do via something same it its"
    " this that be ihr ihre ein eingeben bitte to when if by has have use used set leave empty keep only min max bytes"
    " byte chars character digit digits day days zeichen ziffern stellen caracteres caractères caratteri tekens",
})  # fmt: skip


def words_of(name: str) -> list[str]:
    """The lower-case words of a name in any case style: `clientSecret`, `CLIENT_SECRET`, `client-secret`."""
    words: list[str] = []
    before = ""
    for at, char in enumerate(name):
        if not char.isalnum():
            before = "" if char.isascii() else before  # an invisible character does not end a word
            continue
        if not before or (char.isupper() and (not before.isupper() or name[at + 1 : at + 2].islower())):
            words.append("")
        words[-1] += char.lower()
        before = char
    return words


def family(name: str) -> str:
    """The kind of secret that a name announces, or "", as for `tokens`, `maxTokens`, `forgotPassword`.

    `key`, `auth`, `pass` and `pw` announce a secret only if the value looks like one.
    """
    words = words_of(name) if len(name) <= 128 else []
    while len(words) > 1 and (words[-1] in _WORDS["qualifiers"] or words[-1].isdigit()):
        words.pop()
    if not words:
        return ""
    last = words[-1].rstrip("0123456789")
    before = words[-2] if len(words) > 1 else ""
    if _ends_as_password(last):
        return "" if before in _WORDS["actions"] else "password"
    if last in ("pass", "pw"):
        return "password" if before else last
    is_variable = name.isupper() and (last == "sshpass" or name.endswith(("REDISCLI_AUTH", "REDIS_AUTH")))
    if last.endswith(tuple(_WORDS["passwords"])) or is_variable:
        return "password"
    if last in ("auth", "authorization", "psk"):
        return "pw" if last == "psk" else last
    if last.endswith("secret") or last in ("credential", "credentials", "secretstring"):
        return "" if before == "existing" else "secret"
    if (before == "secret" and last in ("string", "binary")) or words[-3:] == ["secret", "key", "base"]:
        return "secret"
    if last.endswith("token"):
        return "" if before in _WORDS["text tokens"] or last == "subtoken" else "token"
    if last == "pat" and before in _WORDS["pat owners"] and name.isupper():
        return "token"
    keys = ("apikey", "secretkey", "privatekey", "accesskey", "authkey", "masterkey", "accountkey", "signingkey")
    if last.endswith((*keys, "encryptionkey")) or (last == "key" and before in _WORDS["key owners"]):
        return "private-key" if last.endswith("privatekey") or before == "private" else "api-key"
    is_constant = last in ("key", "salt") and before and name.upper() == name
    return "key" if is_constant and before not in _WORDS["public keys"] else ""


def names_password(name: str) -> bool:
    """Whether a name is about a password, even if it only does something with it: `readPassword`."""
    last = words_of(name)[-1:]
    return bool(last) and (last[0] in ("pass", "pw") or _ends_as_password(last[0]))


def _ends_as_password(word: str) -> bool:
    passwords = ("password", "passwd", "passwort", "kennwort", "passphrase", "passcode", "userpwd")
    return word == "pwd" or word.endswith(passwords)


def find_names(text: str, lower: str) -> tuple[list[Name], list[Name]]:
    """The names of secrets that an assignment may follow, and those that a sentence or a field may follow.

    At most 48 characters of a name on each side of a keyword are read.
    """
    assigned: dict[int, Name] = {}
    others: list[Name] = []
    families: dict[str, str] = {}
    for keyword in NAME_PARTS:
        end = 0
        at = lower.find(keyword)
        while at >= 0:
            end = at + len(keyword)
            ahead = text[end : end + 48]
            end += len(ahead) - len(ahead.lstrip(NAME_CHARS))
            sign = text[end : end + 48].lstrip(" \t\"'`\\]?")[:1]
            if end not in assigned:
                head = text[max(0, at - 48) : at]
                start = at - len(head) + len(head.rstrip(NAME_CHARS))
                if text[start - 1 : start] == "\\" and text.startswith(("n--", "r--", "t--"), start):
                    start += 1
                name = text[start:end]
                if name not in families:
                    families[name] = family(name.strip("-."))
                kind = _family_in_context(text, start, end, families[name])
                if kind:
                    is_option = name[:2] == "--" or (kind == "password" and name[1:3].lower() != "pp")  # `-pPassword1`
                    is_flag = name[0] == "-" and text[end : end + 1] == " " and is_option
                    is_element = sign == ">" and (text[start - 1 : start] == "<" or "=" in text[end : end + 6])
                    is_assigning = sign in ("=", ":", ",", "|", ";") or text.startswith(("??", " ??"), end)
                    if is_assigning or is_element or (is_flag and sign != "-"):
                        assigned[end] = (start, end, kind)
                    if sign not in (":", "=") and not is_flag:
                        others.append((start, end, kind))
            at = lower.find(keyword, end)
    return sorted(assigned.values()), sorted(others)


def _family_in_context(text: str, start: int, end: int, kind: str) -> str:
    """The family of the name at start..end, whose own family is `kind`, considering the text before it."""
    name = text[start:end]
    before = text[start - 1] if start else ""
    if before == " ":
        low = name.lower()
        if low in ("key", "token") and not (kind and text[end : end + 1] == "="):  # `API key`
            head = text[max(0, start - 24) : start].rstrip(" ")
            return family((head[len(head.rstrip(NAME_CHARS)) :] + "_" + low).strip("-."))
    elif before and before in "?&":
        if name.lower() in ("key", "sig", "signature", "auth", "x-amz-signature", "x-goog-signature"):
            return "query"
    elif before == "$":
        return "" if text[end : end + 1] == ":" else kind  # `$PWD:/srv`
    elif before == ":":
        head = text[max(0, start - 64) : start]
        if "arn:" in head and "arn:" in head.split()[-1]:
            return ""
    elif before == "\\" and name[0] in "nrt" and not kind:  # a literal `\n` before the name
        return family(name[1:].strip("-."))
    return kind


def label(kind: str) -> str:
    """The kind in the mark for a family."""
    return "password" if kind in LOOSE else "api-key" if kind in ("key", "query") else kind


def is_placeholder(value: str) -> bool:
    """Whether a value takes the place of a secret.

    That is: empty, redacted, a reference (`$PASSWORD`), hollow (`****`), a word like `changeme`, or public by its form
    (a publishable key, an Ethereum address).
    """
    value = value.strip()
    # in a shell, a template, a store of secrets, Terraform, CloudFormation, YAML, a program
    references = (
        "${", "$(", "{{", "<", "#{", "%(", "%{", "@{", "op://", "vault:", "env:", "file:", "secrets.",
        "ENC[", "!vault", "!ref", "!Ref", "!Sub", "!GetAtt", "!secret", "!env", "var.", "local.", "module.", "each.",
        "data.aws", "data.azurerm", "data.google", "random_password.", "azurerm_", "aws_", "google_", "kubernetes_",
        "self.", "this.", "ctx.", "import.meta",
    )  # fmt: skip
    if not value or value.startswith(MARK) or value.startswith(references):
        return True
    # `$X`, `$x[…`, `$x.y`, `$x->…`, `$1` and `:x` of SQL, `@x`, `%X%`
    variable = r"(?s)\$(?:\d+|[^\W\d]\w*|[A-Za-z_.]+|\w+[\[(-])\Z|\$[^\n]*->|[:@][A-Za-z_]+\Z|%(?:[^\n]*%|[a-z])\Z"
    if not value[0].isalnum() and compiled(variable).match(value):
        return True
    if value.startswith("0x") and compiled(r"0[xX][0-9a-fA-F]{40}\Z").match(value):
        return True
    low = value.lower()
    starts = (
        "your-", "your_", "my-api-key", "insert-", "process.env", "os.environ", "required|", "nullable|", "string|",
        "sometimes|", "pk_live_", "pk_test_", "replace-me", "replace_me",
    )  # fmt: skip
    if low.strip("[]()<>{}*&").rstrip("?") in _WORDS["not values"] or low.startswith(starts):
        return True
    if low.endswith(("-here", "_here", "example", "examplekey")) or frozenset("*x.•-_#?X ").issuperset(value):
        return True
    rest = compiled(r"\{[\w.?!\[\]()]+\}").sub("", value) if "{" in value else value
    return len(rest) < len(value) and sum(map(str.isalnum, rest)) < 4  # `{header}.{payload}`


def is_strong(value: str) -> bool:
    """Whether a value looks machine-made: a word of 16 characters or more with letters and digits, no path or URL."""
    if len(value) < 16 or len(value.split()) != 1 or value[0] in "/.~" or "://" in value:
        return False
    return not DIGITS.isdisjoint(value) and value.upper() != value.lower()


def is_made_up(value: str) -> bool:
    """Whether a word follows a rule for passwords: a digit, and both cases or a sign inside."""
    signed = value.lower() != value != value.upper() or not SIGNS.isdisjoint(value[1:-1])
    return len(value) >= 8 and signed and not DIGITS.isdisjoint(value)


def is_prose(value: str) -> bool:
    """Whether several words are a sentence rather than a passphrase."""
    return any(word.strip("?!.:,;()").lower() in _WORDS["sentence"] for word in value.split())


def is_technical(value: str) -> bool:
    """Whether a value is a technical term, a measure, a date, a file, an address, code or a variable."""
    # techniques (`argon2id`, `HS256`, `1Password`), numbered things, files and addresses, dates and times, measures
    terms = r"""(?xis)
    (?:argon2|pbkdf2|bcrypt|scrypt|blake[23]|ed25519|x25519|ecdsa|secp256|pkcs|oauth|1password|bitwarden|keepass
    |python|postgres|mysql|mariadb|sqlite|psycopg|urllib|scram|base64|ubuntu|debian|windows|macos|v1alpha|v1beta)
    |(?=\d|[a-z]+[-_]*\d)\d*(?:sha|md|crc|hmac|[hrpe]s|aes|rsa|ed|utf|latin|ascii|base|iso|rfc|oidc|saml|auth|https?|ipv
    |tls|ssl|ssh|m?fa|ec|log|win|arm|node|boto|vue|uuidv?|gpt|llama|qwen|mp|id|ie|[xpbksilvhutqc])[-_]*\d*(?![a-z\d])
    |(?:page|step|phase|section|chapter|column|nullable|varchar|figure|appendix|paragraph)\d*\Z
    |(?:password|passwd|token|secret|key|api_?key|user|test_|pwd)[\w.]*?[\d_]{1,2}\Z
    |.*(?:…|\.\.\.|://|::|\(\)|=>|@[^@]*\.|/.+/|\.(?:py|[tj]sx?|json|md|txt|ya?ml|toml|env|sh|go|rs|pem|key|php|java|cfg
    |ini|conf|html|css|sql|rb|c|h|com|org)\Z)
    |[a-z.]*/[a-z./]*\Z|\d{4}-|\d{1,3}:|\d[^.]*\.[^.]*\.|[a-z._]+[(\[]|[a-z\d.]+:\d+\Z|[a-z_-]{3,}=+[^=]
    |\d[\d.,:+×x]*-*(?:(?:[smhdwkbx]|ms|min|mins|(?:minute|sec|second|hour|day|week|month|year|bit|byte|char|character|digit
    |letter|word|time|token|way|factor|part|step)s?|[kmg]b|th:?|st|nd|rd|p[xt]|em)(?:-|\Z)|\Z)
    """
    return compiled(terms).match(value) is not None or (value.isupper() and "_" in value)


def is_name_of_code(value: str, kind: str, *, quoted: bool) -> bool:
    """Whether a value is a name in the code for a secret or its type, or describes itself (`lin_api_`, `npm_xxxx`)."""
    beginning = (
        r"(?:[A-Za-z]{1,8}\d{0,2}(?:[_-][A-Za-z]{1,8}\d{0,2}){0,2}[_-](?:…|[xX.*…]{2,})?"
        r"|[a-z]{2,}(?:[-_.:][a-z]{2,})*[-_]v\d{1,2})\Z"
    )
    if kind not in LOOSE and compiled(beginning).match(value):
        return True
    name = r"[a-z]+(?:[-_.][a-z]+)+\Z" if quoted else r"(?a)[A-Za-z_][\w.]*[A-Za-z]\Z"
    words = words_of(value) if compiled(name).match(value) else []
    if len(words) < 2:
        return False
    if not quoted and words[-1] in _WORDS["code"]:
        return True
    return bool(family(value)) and kind not in LOOSE


def _is_key(value: str) -> bool:
    """Whether a value is 32 hex digits or a UUID."""
    sizes = [8, 4, 4, 4, 12] if "-" in value else [32]
    parts = value.split("-")
    return [len(part) for part in parts] == sizes and not value.strip("0123456789abcdefABCDEF-")


def is_described(value: str, kind: str, *, quoted: bool = False, linked: bool = True, sure: bool = False) -> bool:
    """Whether a word that a sentence or a field gives to a name of this family looks like a secret.

    `quoted`: it may be several words. `linked`: a word such as "is" precedes it. `sure`: a statement gives it.
    """
    if len(value) < (1 if quoted else 5) or is_placeholder(value) or value[0] in "/~.{<-$[(|% \t,)" or "](" in value:
        return False
    digits = not DIGITS.isdisjoint(value)
    if " " in value:
        words = len(value.split()) + digits
        return kind in LOOSE and words > (2 if linked or sure else 3) and not is_prose(value)
    cased, letters = value.lower() != value != value.upper(), value.lower() != value.upper()
    signs = not SIGNS.isdisjoint(value[1:] if quoted else value[1:-1])
    if kind not in LOOSE:
        min_digits = 1 if len(value) >= 16 and value.isalnum() else 2
        is_token = len(value) >= 12 and sum(char in DIGITS for char in value) >= min_digits and letters
        fits = is_token and (quoted or linked or (cased and len(value) >= 16 and value.isalnum()) or _is_key(value))
    elif quoted and sure:
        return any(map(str.isalnum, value))
    elif quoted:
        fits = len(value) >= 6 and (digits or signs or (linked and value.isalpha() and value.islower()))
    elif sure or not linked:
        fits = digits and (letters if sure else len(value) >= 7 and (cased or signs))
    elif digits or signs:
        fits = letters and (len(value) >= (6 if digits else 8) or (digits and signs))
    else:
        parts = value.split("-")
        is_phrase = len(parts) > 3 and all(len(part) > 2 and part.isalpha() for part in parts)
        fits = is_phrase and not is_prose(" ".join(parts))
    return fits and not is_technical(value) and (quoted or not is_name_of_code(value, kind, quoted=False))
