"""Splits a shell command into its parts and their words, in one pass over its characters. Hot path."""

from __future__ import annotations

_BEFORE_TEST = frozenset("if elif while until !".split())
_TEST_ENDS = ["]", "]"]
_OPENING = {"(": ")", "{": "}"}
_ESCAPED = frozenset('"\\$`\n')
"""What a backslash makes plain between double quotes."""


def parts_of(command: str) -> list[tuple[list[str], list[str], int]]:
    """Words, files of redirections and start of each part between `;`, `&&`, `|`, brackets and ends of lines.

    Quotes are taken off. What is never closed goes on to the end.
    """
    scan = _Scan(command)
    scan.read()
    return scan.parts


def marked_parts(command: str) -> tuple[list[tuple[list[str], list[str], int]], list[tuple[int, str]]]:
    """The parts, and the marks between them: `;`, `&`, `&&`, `|`, `||`, brackets.

    Each mark has how many parts stand before it. An end of a line that ends a part is a `;`.
    """
    scan = _Scan(command)
    scan.read()
    return scan.parts, scan.marks


class _Scan:
    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: list[tuple[list[str], list[str], int]] = []
        self.marks: list[tuple[int, str]] = []
        self.marked_at = -1
        self.words: list[str] = []
        self.targets: list[str] = []
        self.word: list[str] = []
        self.is_word = self.is_test = False
        self.into = ""
        """The redirection that the next word belongs to."""
        self.documents: list[str] = []
        """The last lines of the here-documents that begin behind this line."""
        self.start = -1
        self.depth = 0
        self.piped = 0
        """So many of the last parts ended in a `|`."""

    def read(self) -> None:
        text, at, end = self.text, 0, len(self.text)
        while at < end:
            char = text[at]
            if char in " \t\r":
                self.end_word()
            elif char == "\n":
                before = len(self.parts)
                self.end_part()
                if len(self.parts) > before or self.marks[-1:] == [(before, ")")]:
                    self.marks.append((len(self.parts), ";"))
                at = self.behind_documents(at)
                continue
            elif char == "#" and not self.is_word:
                at = _find(text, "\n", at)
                continue
            elif char in "<>" and text[at + 1 : at + 2] != "(":
                at = self.redirect(at)
                continue
            elif char == "&" and text[at + 1 : at + 2] == ">":
                self.end_word()
            elif char in ";|&" and (not self.is_test or self.word == _TEST_ENDS):
                before = len(self.parts)
                self.end_part()
                self.piped = self.piped + len(self.parts) - before if char == "|" else 0
                self.mark(char, at)
            elif char in "()" and not self.is_test and not _opens(text, at, text[at - 1 : at], ""):
                self.bracket(char)
            else:
                at = self.piece(at)
                continue
            at += 1
        self.end_part()

    def mark(self, char: str, at: int) -> None:
        """Note an operator, as one where it has two characters; the `&` of `|&` tells nothing."""
        last = self.marks[-1][1] if self.marks and self.marked_at == at - 1 else ""
        if last == char and char != ";":
            self.marks[-1] = (len(self.parts), char + char)
        elif last not in ("|", ";"):
            self.marks.append((len(self.parts), char))
        self.marked_at = at

    def end_word(self) -> None:
        if not self.is_word:
            return
        word = "".join(self.word)
        if self.into == "<<":
            self.documents.append(word)
        elif self.into:
            self.targets.append(word)
        else:
            self.words.append(word)
            begins = word == "[[" and (len(self.words) == 1 or self.words[-2] in _BEFORE_TEST)
            self.is_test = begins or (self.is_test and word != "]]")
        self.word, self.is_word, self.into = [], False, ""

    def end_part(self) -> None:
        self.end_word()
        if self.words:
            self.parts.append((self.words, self.targets, self.start))
        self.words, self.targets, self.start = [], [], -1
        self.is_test, self.into = False, ""

    def behind_documents(self, at: int) -> int:
        """Where the text goes on behind a line's end and the here-documents that begin there."""
        at += 1
        for last in self.documents:
            at = _behind(self.text, at, last)
        self.documents = []
        return at

    def redirect(self, at: int) -> int:
        if self.word and all(map(str.isdigit, self.word)):
            self.word, self.is_word = [], False  # the 2 of `2>`
        self.end_word()
        sign = self.text[at]
        signs = 1
        while signs < 3 and self.text[at + signs : at + signs + 1] == sign:
            signs += 1
        after = self.text[at + signs : at + signs + 1]
        self.into = "<<" if sign == "<" and signs == 2 else sign
        return at + signs + (after in ("&", "|") or (self.into == "<<" and after == "-"))

    def bracket(self, char: str) -> None:
        if char == "(" or not self.depth:  # what stands in front is the name of a function, or a pattern of a `case`
            self.words, self.word, self.is_word = [], [], False
        if char == ")" and not self.depth and self.piped:
            del self.parts[-self.piped :]
            while self.marks and self.marks[-1][0] > len(self.parts):
                self.marks.pop()
        self.piped = 0
        self.end_part()
        if char == "(" or self.depth:
            self.marks.append((len(self.parts), char))
        self.depth = max(0, self.depth + (1 if char == "(" else -1))

    def piece(self, at: int) -> int:
        """Take the next character into the word, or all that a quote or a bracket encloses; where the text goes on."""
        text, end = self.text, len(self.text)
        if self.start < 0:
            self.start = at
        if text.startswith("\\\n", at):
            return at + 2
        self.is_word = True
        waiting: list[str] = []  # what closes the brackets and quotes that are open
        before = text[at - 1 : at]
        while at < end:
            begin, char, inner = at, text[at], waiting[-1] if waiting else ""
            is_nested = len(waiting) > (waiting[:1] == ['"'])  # all in a `$(…)` is kept as it stands
            if char == "\\":
                at += 2
                keeps = is_nested or (inner == '"' and text[begin + 1 : at] not in _ESCAPED)
                self.word.append(text[begin:at] if keeps else text[begin + 1 : at])
            elif char == "'" and inner != '"':
                at = _find(text, "'", at + 1) + 1
                self.word.append(text[begin:at] if is_nested else text[begin + 1 : at - 1])
            elif inner == ")" and text.startswith("<<", at) and text[at + 2 : at + 3] not in ("<", ""):
                at = _find(text, "\n", at)
                last = text[begin + 2 : at].lstrip("-").split()[:1]
                at = _behind(text, at + 1, last[0].strip("'\"\\")) if last else at
                self.word.append(text[begin:at])
            else:
                at += 1
                if char == inner:
                    waiting.pop()
                elif char in '"`':
                    waiting.append(char)
                elif _opens(text, begin, before, inner):
                    waiting.append(_OPENING[char])
                if char != '"' or is_nested:
                    self.word.append(char)
            if not waiting:
                break
            before = char if at == begin + 1 else ""
        return at


def _opens(text: str, at: int, before: str, inner: str) -> bool:
    """Whether a bracket belongs to its word: `$(…)`, `${…}`, `<(…)`, `x=(…)`, `((…))`."""
    char = text[at]
    if char not in _OPENING:
        return False
    if before == "$" or inner == _OPENING[char]:
        return True
    return inner != '"' and char == "(" and (before in ("<", ">", "=") or text.startswith("((", at))


def _behind(text: str, at: int, last: str) -> int:
    """Where the text goes on behind a here-document that begins there."""
    while at < len(text):
        end = _find(text, "\n", at)
        line = text[at:end].strip()
        at = end + 1
        if line == last:
            break
    return at


def _find(text: str, sought: str, start: int) -> int:
    """Where it stands, else the end."""
    at = text.find(sought, start)
    return at if at >= 0 else len(text)
