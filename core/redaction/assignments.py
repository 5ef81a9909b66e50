"""Finds `NAME = VALUE` if the name announces a secret: code, `.env`, JSON, YAML, TOML, XML, headers, flags, queries.

Judges names and values for the other finders too. Each name costs a bounded look around it.
"""

from __future__ import annotations

from core import TYPE_CHECKING
from core.redaction import Span, compiled, places_of
from core.redaction.clues import FOREIGN, NAME_PARTS
from core.redaction.tokens import DIGITS, SIGNS, is_made_up, is_placeholder, is_prose, is_strong, is_technical

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_JUDGED = 256  # characters of a value that are judged
MAX_LINE = 200  # characters of a line before and after a name
MAX_AFTER = 600  # characters after a name that decide about its value
Name = tuple[int, int, str]
"""The start, end and family of a name (see `family`)."""
LOOSE = frozenset(["password", "pw", "pass"])
"""Families whose value may be any word."""
NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_PASSWORDS = (*"password passwd passwort kennwort passphrase passcode passe userpwd masterauth".split(), *FOREIGN)
_OWNERS_OF_KEYS = tuple(
    "api access secret private auth account master signing signature encryption decryption encrypt crypto shared"
    " service admin anon role subscription license activation recovery session hmac jwt deploy webhook app write host"
    " storage imported".split()
)
_PUBLIC_KEYS = frozenset(
    "primary foreign cache sort partition public dict idempotency object row index unique lookup map routing group"
    " publishable hot short arrow registry verify dedupe merge event".split()
)


def words_of(name: str) -> list[str]:
    """The lower-case words of a name in any case style: `clientSecret`, `CLIENT_SECRET`, `client-secret`."""
    words = "".join(char if char.isalnum() else " " * char.isascii() for char in name)
    if not words[1:].islower():
        words = compiled(r"(?<=[^A-Z\s])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])").sub(" ", words)
    return words.lower().split()


def family(name: str) -> str:
    """The kind of secret that a name announces, or "", as for `tokens` and `passwordHash`.

    `key`, `auth`, `pass` and `pw` announce a secret only if the value looks like one.
    """
    words = words_of(name) if len(name) <= 128 else []
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    if not words:
        return ""
    last = words[-1].rstrip("0123456789")
    before = words[-2] if len(words) > 1 else ""
    if last == "pwd" or last.endswith(_PASSWORDS):
        return "password"
    if last in ("pass", "pw"):
        return "password" if before else last
    if last.endswith(("pass", "pw")):
        return "" if last.removesuffix("pass").endswith(("com", "by", "sur", "tres", "over", "under")) else "password"
    if last in ("auth", "authorization", "psk"):
        return "password" if name.endswith(("REDISCLI_AUTH", "REDIS_AUTH")) else "pw" if last == "psk" else last
    is_secret = last.endswith("secret") or last in ("credential", "credentials", "secretstring")
    if is_secret or "_".join(words).endswith(("secret_string", "secret_binary", "secret_key_base")):
        return "" if before == "existing" else "secret"
    if last.endswith("token") or (last == "pat" and name.isupper() and before in ("github", "gitlab", "gh", "azure")):
        return "" if before in ("input", "output", "max", "min", "total") else "token"  # numbers of tokens
    owner = (last.removesuffix("key") or before) if last.endswith("key") else ""
    if owner.endswith(_OWNERS_OF_KEYS):
        return "private-key" if owner.endswith("private") else "api-key"
    is_constant = last in ("key", "salt") and before and name.upper() == name
    return "key" if is_constant and before not in _PUBLIC_KEYS else ""


def names_password(name: str) -> bool:
    """Whether a name is about a password, even if it only does something with it: `readPassword`, `passwordField`."""
    return any(word in ("pass", "pw", "pwd") or word.endswith(_PASSWORDS) for word in words_of(name))


def label(kind: str) -> str:
    """The kind in the mark for a family."""
    return "password" if kind in LOOSE else "api-key" if kind in ("key", "query") else kind


def find_names(text: str, lower: str, signs: set[str]) -> dict[Name, int]:
    """The names of secrets, each with the place of the first keyword (of `signs`) with the same surroundings."""
    names: dict[Name, int] = {}
    known: dict[tuple[str, str], tuple[Name, int]] = {}
    done = 0
    for at, end in places_of(lower, signs.intersection(NAME_PARTS)):
        if at < done:
            continue  # within the name before it
        surroundings = text[max(0, at - 48 - MAX_LINE) : at], text[at : end + 48 + MAX_AFTER]
        if surroundings not in known:
            known[surroundings] = _name_at(text, at, end), at
        (start, done, kind), first = known[surroundings]
        start, done = start + at - first, done + at - first
        if kind:
            names[start, done, kind] = first
    return names


def _name_at(text: str, at: int, end: int) -> Name:
    """The name around the keyword at..end, at most 48 characters on each side, considering the text before it."""
    head, ahead = text[max(0, at - 48) : at], text[end : end + 48]
    start, end = at - len(head) + len(head.rstrip(NAME_CHARS)), end + len(ahead) - len(ahead.lstrip(NAME_CHARS))
    if text[start - 1 : start] == "\\" and text[start] in "nrt" and family(text[start + 1 : end].strip("-.")):
        start += 1  # the letter of an escape
    kind, name = family(text[start:end].strip("-.")), text[start:end].lower()
    before = text[start - 1] if start else ""
    if before == " " and name in ("key", "token") and not (kind and text[end : end + 1] == "="):  # `API key`
        head = text[max(0, start - 24) : start].rstrip(" ")
        kind = family((head[len(head.rstrip(NAME_CHARS)) :] + "_" + name).strip("-."))
    elif before in ("?", "&") and name.endswith(("key", "sig", "signature", "auth", "appid")):
        kind = kind or "query"
    is_arn = before == ":" and "arn:" in text[max(0, start - 64) : start].split()[-1]
    is_variable = before == "$" and text[end : end + 1] == ":"  # `$PWD:/srv`
    return start, end, "" if is_arn or is_variable else kind


def sign_after(text: str, name: Name) -> tuple[str, bool]:
    """The sign after a name, and whether the name is an option before another word."""
    start, end, kind = name
    option = text[start : start + 3].lower()
    is_option = option[0] == "-" and (option[1] == "-" or (kind == "password" and option != "-pp"))
    return text[end : end + 48].lstrip(" \t\"'`\\]?")[:1], is_option and text[end : end + 1] == " "


def each_once(names: dict[Name, int], value_of: Callable[[Name], Span | None]) -> list[Span]:
    """What `value_of` gives for each name that is not part of the value before it.

    Names with the same surroundings are judged once, since a text may repeat a line thousands of times.
    """
    spans: list[Span] = []
    done = 0
    known: dict[int, Span | None] = {}
    for name, first in names.items():
        start, end, _ = name
        if start < done:
            continue
        if first not in known:
            span = value_of(name)
            known[first] = span and (span[0] - start, span[1] - start, span[2])
        if value := known[first]:
            done = start + value[1]
            spans.append((start + value[0], done, value[2]))
            if done >= end + MAX_AFTER:  # the same beginning may have another end elsewhere
                del known[first]
    return spans


def assigned_value(text: str, name: Name) -> Span | None:
    """The secret value after a name; None if there is none."""
    start, name_end, kind = name
    follows, is_option = sign_after(text, name)
    is_element = follows == ">" and (text[start - 1 : start] == "<" or "=" in text[name_end : name_end + 6])
    is_assigning = follows in ("=", ":", ",", "|") or text.startswith(("??", " ??"), name_end)
    is_assigning = is_assigning or is_element or (is_option and follows != "-")
    separator = _separator(text, start, name_end) if is_assigning else None
    if separator is None:
        return None
    sign, at = separator
    tight = sign == " " or (sign[0] == "=" and at - name_end == len(sign))
    opening = r"(?:<!\[CDATA\[|Some\(\s{0,40}(?=\")|\*\* ?)?(?:[rbufN]?(\\{0,3}[\"'`]))?"  # `**Password:** …`
    opened = compiled(opening).match(text, at)
    mark, begin = (opened.group(1) or "", opened.end()) if opened else ("", at)
    if sign == "," and text[start] == "-" and text[begin : begin + 1] != "-":  # `["login", "--password", "…"]`
        sign = " "
    schemes = r"(?i:(?:bearer|basic|token|apikey|api-key|negotiate|bot|splunk|key)[ \t]{1,4})"
    scheme = compiled(schemes).match(text, begin) if kind in ("authorization", "auth", "token", "api-key") else None
    begin = scheme.end() if scheme is not None else begin
    # the value may be on the next line, indented further: YAML, perhaps as a block
    line_end = r"[ \t]*+(?:[|>][-+]?)?+(?:[ \t]*+(?:\r?\n|(?<!\\)(?:\\r)?\\n)){1,2}+"
    next_line = compiled(line_end).match(text, begin) if sign == ":" and not mark else None
    if next_line is not None:
        is_block = "|" in next_line.group() or ">" in next_line.group()
        begin, end = value_below(text, start, next_line.end(), kind, is_block=is_block)
    elif mark and not (scheme is not None and kind == "authorization"):
        end = _quoted_end(text, name, begin, mark, sign, tight)
    else:
        value = _trimmed(text[begin : _bare_end(text, begin, begin + MAX_JUDGED)])
        judged = "schemed" if scheme is not None else kind
        alone = _stands_alone(text, begin + len(value))
        is_value = (
            len(value) >= (1 if kind == "password" else 4)
            and is_assigned(value, judged, sign, tight=tight, alone=alone)
            and not _is_argument(text, begin, value, kind)
            and not _is_sentence(text, name, value)
        )
        end = begin + len(_trimmed(text[begin : _bare_end(text, begin, len(text))])) if is_value else 0
        end = max(end, _end_of_words(text, name, begin, end, sign))
    # After `>` only the text of an element counts, not what follows a placeholder such as `<password>`.
    is_given = end > begin and (sign != ">" or text[end : end + 1] == "<" or text.startswith("]]>", end))
    return (begin, end, label(kind)) if is_given else None


def is_assigned(value: str, kind: str, sign: str, *, tight: bool, quoted: bool = False, alone: bool = True) -> bool:
    """Whether a value that is assigned to the name of a secret is a secret.

    `kind`: the name's family, or `schemed` after a word such as `Bearer`. `sign`: between name and value. `quoted`: the
    value is in quotes. `tight`: no space surrounds the sign. `alone`: nothing but punctuation, a comment or the next
    field follows on the line.
    """
    is_words = value.isalpha() and (value.isupper() or is_prose(value))
    if is_placeholder(value) or (sign == " " and is_words):
        return False
    if kind == "schemed":
        return len(value) >= 6 and (alone or not value.isalpha())
    if kind in ("key", "auth", "query"):
        is_path = compiled(r".+/[^/]*\.\w{2,5}\Z").match(value) and not is_strong(value.partition("/")[0])
        return is_strong(value) and not is_path and not (kind == "auth" and is_technical(value))
    if kind == "authorization" or sign == ",":  # a vague name, or a name before a comma
        is_word = len(value) >= 8 and " " not in value and "://" not in value
        return is_strong(value) or (quoted and sign != "," and is_word)
    remark = r"(?:old|prod|production|stage|staging|dev|live|local|temp|temporary|expired|rotated)\b(?![.(_])"
    call = r"[!*]?(?!\d)[\w.]+[(\[]" + (f"(?!{remark})" if tight or sign == ":" else "")  # not `sunflower(old)`
    code = rf"{call}|\w+::|[A-Za-z_]+(?:\.[A-Za-z_]+)+\Z|[A-Za-z_][\w.]*[?!]+\.\w|&(?:\[|mut |'\w)"
    if (not quoted and compiled(code).match(value)) or is_name_of_code(value, kind, quoted=quoted or tight):
        return False
    if kind in ("pass", "pw"):
        return _is_short_password(value, kind, sign, quoted=quoted, tight=tight, alone=alone)
    is_name = not quoted and value.replace("_", "a").isalpha()
    if kind != "password":
        return not (is_name and family(value)) and _is_token(value, sign, quoted=quoted, tight=tight, alone=alone)
    if (value[0] in "/~" and "/" in value[1:]) or value.startswith(("./", "../")) or (not quoted and value[0] == "("):
        return False
    if (is_name and names_password(value)) or (len(value) < 4 and not any(map(str.isalnum, value))):
        return False
    if quoted or tight:  # it may be any word
        command = r"(?s).*(?:\A|\s)(?:--?[a-z]|\S*\w\.[a-z]{2,4}(?:\s|\Z))"
        return tight or " " not in value or not (is_prose(value) or compiled(command).match(value))
    return len(value) >= 3 if alone else is_described(value, kind)


def _is_short_password(value: str, kind: str, sign: str, *, quoted: bool, tight: bool, alone: bool) -> bool:
    """Whether the value of `pass` or `pw`, which mean other things too, is a password."""
    if kind == "pw" and quoted and (value.isalpha() or (" " in value and (tight or not is_prose(value)))):
        return len(value) >= 6
    starts_plain = len(value) >= 8 - alone and value[0].isalpha() and "_" not in value
    fits = quoted or is_made_up(value) or sign[0] == "=" or kind == "pw" or starts_plain
    has_letters = value.upper() != value.lower() or len(value) >= 16
    return fits and has_letters and len(value) >= 6 and "/" not in value and not DIGITS.isdisjoint(value)


def _is_token(value: str, sign: str, *, quoted: bool, tight: bool, alone: bool) -> bool:
    """Whether a value is a word and no number, address or path; the looser it is written, the longer it must be."""
    if "://" in value or value.startswith(("/", "./", "~/", "arn:")):
        return False
    if " " in value.strip():
        return quoted and any(map(is_strong, value.split()))
    if value.isascii() and value.upper() == value.lower():
        return len(value) >= 16
    digits = not DIGITS.isdisjoint(value)
    if tight or quoted:
        return len(value) >= (4 if tight and (sign == "=" or (digits and not quoted)) else 8)
    if digits:
        return len(value) >= (8 if alone else 12)
    return alone and len(value) >= 16 and value.isascii() and not set("_-") & set(value)


def _separator(text: str, start: int, end: int) -> tuple[str, int] | None:
    """The sign after the name at start..end, and the start of the value; a type may come between: `: str =`."""
    match = compiled(
        r"\\{0,3}[\"'`]?\]?\??[ \t]{0,24}"
        r"(?::[ \t]{0,4}[A-Za-z][\w.\[\]|]{0,30}"
        r"(?:[ \t]{1,4}(?==)|(?==(?:\"\"|''|[\"'`]?(?![\s=,;})\]\"'`]|\\[nrt]|\Z))))|:(?==))?"
        r"(=>|={1,3}|\|\|=|\?\?=|:(?!:)|(?:,|\|\||\?\?)(?=[ \t]{0,4}\\{0,3}[\"'])|>)[ \t]{0,16}"
    ).match(text, end)
    is_test = match is not None and match.group(1) == "||" and text[start - 1 : start] in ("$", "{")
    if match is not None and text[match.start(1) - 1] != "!" and not (is_test and text[end] in '"}'):
        return match.group(1), match.end()
    gap = compiled(r" (?:\\\r?\n[ \t]*)?").match(text, end) if text[start] == "-" else None
    return (" ", gap.end()) if gap is not None else None


def _bare_end(text: str, at: int, limit: int) -> int:
    """The end of the bare value at `at`, which a separator ends only before a field or white space: not `p@ss,word`."""
    match = compiled(
        r"(?:[^\s\"'`<>,;&\\]|\\(?![nrt\"'])|[\"']\w{1,40}[\"'](?=\w)"
        r"|[,;&](?!\s|\Z|&|[\w.\[\]-]{1,30}[=:]|[\w-]{1,20} [\w-]{1,20}=))*+"
    ).match(text, at, limit)
    return match.end() if match is not None else at


def _is_argument(text: str, at: int, value: str, kind: str) -> bool:
    """Whether a value is a variable given to a call, `connect(password=given_bytes)`, or a type: `Option<String>`."""
    rest = text[at + len(value) : at + len(value) + 40]
    if compiled("<(?!br)[A-Za-z]").match(rest):
        return value.isalnum() and (value[:1].isupper() or ">(" in rest)
    return rest[:1] == ")" and kind == "password" and "_" in value and value.replace("_", "a").isalpha()


def _is_sentence(text: str, name: Name, value: str) -> bool:
    """Whether a sentence says how to set a parameter: `add token=refresh`."""
    start, end, kind = name
    before = text[max(0, start - 24) : start].split(" ")[-2:]
    is_word = value.isalpha() and value.islower() and len(value) < 12 and text[start:end].islower()
    is_verb = before[1:] == [""] and before[0].strip(":").isalpha() and before[0] not in ("export", "set", "env")
    return is_word and is_verb and kind != "password"


def _end_of_words(text: str, name: Name, begin: int, end: int, sign: str) -> int:
    """The end of a value of several words: among other lines of `name: value`, or in quotes around its name too.

    0 if there is none. `end`: the end of its first word, or 0.
    """
    start, name_end, kind = name
    tight = sign == "=" and begin == name_end + 1
    quote = text[start - 1 : start]
    stop = text.find(quote, end, end + 80) if tight and end and quote in ("'", '"') else -1
    if stop > end:  # `-e "PASSWORD=two words"`
        return 0 if any(char in text[end:stop] for char in "=;&,\n\\") else stop
    if (sign != ":" and not tight) or not text[begin + 1 : begin + 2].strip():
        return 0
    words_to_the_end = r"[^\s\"'`<>{}()\[\]=|;$][^\n\"'`<>{}()\[\]=|;$]{2,80}(?=\r?\n|\Z)"
    given = compiled(words_to_the_end).match(text, begin) if kind in ("password", "pw") else None
    head = _line_before(text, start)
    if given is None or not compiled(r"[ \t]*(?:- )?(?:[\w.-]+ ){0,2}\Z").match(head):
        return 0
    value = given.group().rstrip()
    words = value.split()
    is_command = tight and text[start:name_end].isupper() and "- " not in head  # `TOKEN=… make test`
    if is_command or not 1 < len(words) < 9 or is_placeholder(words[0]) or value[-1] in ",.!?:" or is_prose(value):
        return 0
    # `password: 3 attempts left` is a message. A passphrase has both cases in a word other than the first, or consists
    # of four or more plain words.
    cased = any(word.lower() != word != word.upper() for word in value.replace("-", " ").split()[1:])
    plain = len(words) > 3 and all(len(word) > 2 and word.isalpha() and word.islower() for word in words)
    return begin + len(value) if tight or plain or (cased and not DIGITS.isdisjoint(value)) else 0


def _quoted_end(text: str, name: Name, at: int, mark: str, sign: str, tight: bool) -> int:
    """The end of the quoted value that begins at `at`; 0 if it is no secret."""
    start, name_end, kind = name
    head = _line_before(text, start).rsplit("\\n" if mark[0] == "\\" else "\n", 1)[-1]
    is_open = (head.count(mark) - (head.count("\\" + mark) if len(mark) == 1 else 0)) % 2
    if is_open and text[at : at + 1] in tuple(")],;+} ") and mark not in text[name_end : at - len(mark)]:
        return 0  # the quote ends a string that contains the name: `print("Password: ")`
    end = _closing_quote(text, at, mark, min(len(text), at + MAX_JUDGED))
    setters = r"(?i)(?:define|set\w*|put\w*|hset|add|append|header|values)\s*\([\"'\\ \t]*\Z"
    if sign == "," and compiled(setters).search(head[-64:]):
        sign = "="  # `define('DB_PASSWORD', '…')`
    if not is_assigned(text[at:end], kind, sign, quoted=True, tight=tight):
        return 0
    return _closing_quote(text, at, mark, len(text)) if end == at + MAX_JUDGED else end


def value_below(text: str, start: int, at: int, kind: str, *, is_block: bool = False) -> tuple[int, int]:
    """The single word in the lines at `at`, below a name and its `:`, or the YAML block there; (0, 0) for none."""
    lines = text[at : at + MAX_LINE].replace("\\n", " \n").split("\n")[:3]
    line = next((line for line in lines if line.strip(" \t\r`")), "")
    value = line.strip(" \t\r\"'`*,").removesuffix("\\r")
    head = _line_before(text, start).rsplit("\\n", 1)[-1]
    indent = head[: len(head) - len(head.lstrip(" \t"))]
    indented = not head.strip(" -\t\"'") and line.startswith((indent + " ", indent + "\t"))
    if is_block and indented and kind in LOOSE:
        block = compiled(rf"(?:{indent}[ \t]+[^\n]*(?:\n|\Z)){{2,20}}|[^\n]+ [^\n]+").match(text, at)
        words = block.group().split() if block is not None else []
        is_secret = is_described(" ".join(words), kind, quoted=True, linked=False)
        if block is not None and (is_secret or all(is_described(word, kind) for word in words)):
            return text.index(words[0], at), at + len(block.group().rstrip())
    if not value or value[-1] in ":{[(>" or len(value.split()) > 1 or value[0] == "#":
        return 0, 0
    is_odd = not value.isalnum() or value.lower() != value != value.upper() or len(value) > 15
    is_apart = 8 <= len(value) <= 64 and (is_odd if kind == "password" else kind != "pass" and is_made_up(value))
    fits = is_assigned(value, kind, ":", tight=False) if indented else is_apart and is_described(value, kind)
    begin = text.index(value, at)
    return (begin, begin + len(value)) if fits else (0, 0)


def _line_before(text: str, at: int) -> str:
    """What precedes `at` on its line."""
    return text[max(0, at - MAX_LINE) : at].rsplit("\n", 1)[-1]


def _closing_quote(text: str, at: int, mark: str, limit: int) -> int:
    """The end of a quoted value: the same quote unescaped, the end of the line, or the limit."""
    from re import escape

    quoted = compiled(rf"(?:(?!{escape(mark)})(?:\\.|[^\n]))*+").match(text, at, limit)
    return quoted.end() if quoted is not None else limit


def _trimmed(value: str) -> str:
    """A bare value without the sentence's punctuation or the brackets that close around it."""
    for _ in range(8):
        value = value.rstrip(".,;:")
        opening = {")": "(", "]": "[", "}": "{"}.get(value[-1:])
        if opening is None or value.count(opening) >= value.count(value[-1]):
            break
        value = value[:-1]
    return value


def _stands_alone(text: str, end: int) -> bool:
    """Whether nothing but punctuation, a comment or the next field follows on the line."""
    line = text[end : end + 48].split("\n", 1)[0].rstrip()
    rest = line.strip(" \t\r.,;)]}\"'`\\&|")
    if rest[:1] in ("(", "[", "{"):  # `sunflower (staging)`, but not `load (user);`
        return line[-1] != ";" and compiled(r".[^)\]}]*(?:[)\]}][.,;]|\Z)").match(rest) is not None
    is_comment = not rest or rest[0] in "#/<-–—←" or line[:3] == " ; "
    return is_comment or "=" in rest.split(" ", 1)[0] or line[:1] in ("&", ";", ",", "\\")


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
    # the last word of a name of code: `Uint8Array`, `Web3Credentials`, `passwordSchema`
    ends = "array buffer bytes str string type schema request response config options props input ref provider"
    return (not quoted and words[-1] in ends.split()) or (kind not in LOOSE and bool(family(value)))


def is_described(value: str, kind: str, *, quoted: bool = False, linked: bool = True, sure: bool = False) -> bool:
    """Whether a word that a sentence or a field gives to a name of this family looks like a secret.

    `quoted`: it may be several words. `linked`: a word such as "is" precedes it. `sure`: a statement gives it.
    """
    min_chars = 12 if kind not in LOOSE else 1 if quoted else 5
    if len(value) < min_chars or value[0] in "/~.{<-$[(|% \t,)" or "](" in value or is_placeholder(value):
        return False
    digits = not DIGITS.isdisjoint(value)
    if " " in value:
        words = len(value.split()) + digits
        return kind in LOOSE and words > (2 if linked or sure else 3) and not is_prose(value)
    cased, letters = value.lower() != value != value.upper(), value.lower() != value.upper()
    signs = not SIGNS.isdisjoint(value[1:] if quoted else value[1:-1])
    if kind not in LOOSE:
        key = r"(?i)(?:[0-9a-f]{32}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\Z"
        is_mixed = cased and len(value) >= 16 and value.isalnum()
        fits = digits and letters and (quoted or linked or is_mixed or compiled(key).match(value) is not None)
    elif quoted:
        fits = sure or (len(value) >= 6 and (digits or signs or (linked and value.isalpha() and value.islower())))
    elif sure or not linked:
        fits = digits and (letters if sure else len(value) >= 7 and (cased or signs))
    elif digits or signs:
        fits = letters and (len(value) >= (6 if digits else 8) or (digits and signs))
    else:
        parts = value.split("-")
        is_phrase = len(parts) > 3 and all(len(part) > 2 and part.isalpha() for part in parts)
        fits = is_phrase and not is_prose(" ".join(parts))
    return fits and not is_technical(value) and (quoted or not is_name_of_code(value, kind, quoted=False))
