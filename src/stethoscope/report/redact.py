"""Reports for strangers: what names people, machines and places is replaced before anything is rendered.

Every text of a noun passes through here, whatever field it stands in, so that no format can let one through.
The same thing has the same placeholder wherever it stands: <path-1>/train.py, <user-1>, <host-1>, <email-1>,
<ip-1>, <url-1>, <secret-1>. A path keeps the name of its file. What rules and causes say of themselves stays.
"""

from __future__ import annotations

import ast
import contextlib
import getpass
import math
import os
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeVar, cast

import numpy as np

from stethoscope.causes import CauseEntry
from stethoscope.findings.finding import RuleEntry

Noun = TypeVar("Noun")

SHORTEST_NAME = 3  # letters of a user or host; shorter ones are words
SHORTEST_SECRET = 4
LONG, VERY_LONG = 24, 32  # characters from which a random word, or a hexadecimal one, is taken for a secret
RANDOM = 3.6  # bits a character
ENOUGH_OF_EACH = 2  # capitals, small letters and digits of a random word
MOST_LITERALS = 5_000

PATH_FIELDS = frozenset({"file", "path", "root", "read_from", "folder"})
NOBODY = frozenset(
    {
        *(
            "root",
            "user",
            "users",
            "admin",
            "ubuntu",
            "home",
            "work",
            "data",
            "runs",
            "shared",
            "public",
            "jovyan",
        ),
        *(
            "content",
            "workspace",
            "default",
            "localhost",
            "unknown",
            "none",
            "null",
            "true",
            "false",
            "train",
            "test",
        ),
    }
)
NOTHING = frozenset({"none", "null", "true", "false"})
PLACEHOLDER = re.compile(r"<(?:path|user|host|email|ip|url|secret)-\d+>")

_SECRET_NAME = (
    r"api[_-]?key|apikey|secret(?:[_-]?(?:access[_-]?)?key)?|passwd|password|pwd|passphrase|credentials?"
    r"|access[_-]?key(?:[_-]?id)?|private[_-]?key|(?:auth|access|api|hf|github|gitlab|refresh|bearer)[_-]?token"
    r"|bearer|wandb[_-]?key|client[_-]?secret|session[_-]?key|ssh[_-]?key|webhook(?:[_-]?url)?|dsn"
)
_IS_SECRET = re.compile(rf"(?:^|[_.-])(?:{_SECRET_NAME})$", re.IGNORECASE)
_IS_USER = re.compile(r"(?:^|[_.-])(?:user|username|user_?name|author|owner|login|entity)$", re.IGNORECASE)
_IS_HOST = re.compile(
    r"(?:^|[_.-])(?:host|hostname|host_?name|node|master_?addr|node_?name|server)$", re.IGNORECASE
)
_TOKEN = re.compile(r"(?:^|[_.-])token$", re.IGNORECASE)

_ASSIGNED = re.compile(
    rf"(?P<before>(?<![A-Za-z0-9])[\w.-]*(?:{_SECRET_NAME})[\"']?(?:\s*[:=]+\s*|\s+(?=\S*\d)|=))"
    r"(?:(?P<quote>[\"'])(?P<quoted>.+?)(?P=quote)|(?P<value>[^\s\"',;{}\[\]()<>]+))",
    re.IGNORECASE,
)
_HOME = re.compile(r"(?:/home/|/Users/|[\\/]Users[\\/]|/scratch/|/data/home/|~)(?P<user>[A-Za-z][\w.-]+)")
_EVENTS = re.compile(r"tfevents\.\d+\.(?P<host>[\w.-]+?)(?:\.\d+)*$")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|$)", re.DOTALL)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,10}://[^\s\"'<>\])},;]+", re.IGNORECASE)
_PUBLIC = re.compile(
    r"https?://(?:[\w-]+\.)*(?:pytorch\.org|arxiv\.org|python\.org|readthedocs\.io)(?:[/?#]|$)"
)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_AT_HOST = re.compile(r"(?<![\w@])(?P<user>[a-z_][\w.-]*)@(?P<host>[A-Za-z][\w-]+)(?![\w.]*\()")
_KNOWN = re.compile(
    r"\b(?:sk-[\w-]{16,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|hf_[A-Za-z0-9]{16,}|(?:AKIA|ASIA)[0-9A-Z]{12,}"
    r"|xox[abeprs]-[\w-]{8,}|glpat-[\w-]{12,}|AIza[\w-]{20,}|ya29\.[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]+)?"
    r"|npm_\w{20,}|pypi-[\w-]{16,}|dop_v1_\w{16,})"
)
_IPV4 = re.compile(r"(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.]*\d)")
_IPV6 = re.compile(
    r"(?<![\w:])(?=[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:)(?:[0-9A-Fa-f]{1,4}:){3,7}:?(?:[0-9A-Fa-f]{1,4})?(?![\w:])"
    r"|(?<![\w:])(?:[0-9A-Fa-f]{1,4}:)*[0-9A-Fa-f]{1,4}::(?:[0-9A-Fa-f]{1,4}:)*[0-9A-Fa-f]{0,4}(?![\w:])"
)
_WINDOWS = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z]:[\\/]|\\\\)[^\s\"'<>|:*?;,()\[\]]+")
_ABSOLUTE = re.compile(
    r"(?<![\w/<>.~-])(?:~[\w.-]*)?(?:/[\w.@+~=%-]+){2,}/?|(?<![\w/<>.])~[\w.-]*/[\w.@+~=%/-]+"
)
_RELATIVE = re.compile(
    r"(?<![\w/<>.-])(?:\.{1,2}/)*(?:[\w.@+=%-]+/)+[\w.@+=%-]+\.(?:py|ipynb|sh|ya?ml|toml|json|jsonl|csv|tsv|txt|log|out|err|pth?|ckpt"
    r"|safetensors|bin|npz?|h5|db|sqlite3?|wandb|parquet|gz|zip|tar|frec|png|svg|html)\b"
)
_DOMAIN = re.compile(
    r"(?<![\w.@/-])(?:[A-Za-z0-9][\w-]*\.)+(?:com|org|net|edu|gov|io|ai|local|internal|intern|lan|corp|cloud|site|cluster|de"
    r"|fr|uk|ch|cn|jp|eu)(?![\w-])"
)
_WORD = re.compile(r"(?<![\w+/-])[\w+/-]{24,}={0,2}(?![\w+/-])")
_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{32,}(?![0-9A-Za-z])")


def redacted(noun: Noun) -> Noun:
    """A copy of a diagnosis, a comparison or a triage in which nothing names people, machines or places."""
    redactor = Redactor()
    for name, text in _texts(noun):
        redactor.learn(name, text)
    return cast(Noun, _Copy(redactor).of(noun))


class Redactor:
    """Replaces what is private in texts, the same thing always by the same placeholder."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}
        self._counts: Counter[str] = Counter()
        self._literals: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        for user in _own_users():
            self._learn_name(user, "user")
        self._learn_name(_own_host(), "host")

    def learn(self, field: str, text: str) -> None:
        """Take note of a text that stands in a field, or below a key, of this name."""
        if field in PATH_FIELDS:
            self._learn_path(text)
        elif (_IS_SECRET.search(field) or (_TOKEN.search(field) and _looks_random(text))) and _is_telling(
            text
        ):
            self._literals.setdefault(text, self._placeholder("secret", text))
        elif _IS_USER.search(field):
            self._learn_name(text, "user")
        elif _IS_HOST.search(field):
            self._learn_name(text, "host")
        for found in _HOME.finditer(text):
            self._learn_name(found["user"], "user")
        for found in _EMAIL.finditer(text):
            self._learn_name(found[0].partition("@")[0], "user")
        self._pattern = None

    def path(self, text: str) -> str:
        """A path without its folder; the name of the file stays, unless it is private itself."""
        folder, name = os.path.split(text.replace("\\", "/") if re.match(r"[A-Za-z]:\\|\\\\", text) else text)
        if not folder or text.startswith("<"):
            return self.text(text)
        if not name or folder in {os.curdir, os.sep}:
            return self.text(name) or self._placeholder("path", folder)
        return f"{self._placeholder('path', os.path.normpath(folder))}/{self._plain(name)}"

    def text(self, text: str) -> str:
        """A text with placeholders for what is private."""
        if not text or text.isspace():
            return text
        pattern = self._known()
        if pattern is None:
            return self._plain(text)
        # What is known is replaced first, and what stands between is searched.
        parts, end = [], 0
        for found in pattern.finditer(text):
            parts += [self._plain(text[end : found.start()]), self._literals[found[0]]]
            end = found.end()
        return "".join([*parts, self._plain(text[end:])])

    def _plain(self, text: str) -> str:
        text = _PRIVATE_KEY.sub(self._as("secret"), text)
        text = _URL.sub(self._url, text)
        text = _EMAIL.sub(self._as("email"), text)
        text = _ASSIGNED.sub(self._assigned, text)
        text = _KNOWN.sub(self._as("secret"), text)
        text = _AT_HOST.sub(self._user_at_host, text)
        text = _IPV4.sub(self._as("ip"), text)
        text = _IPV6.sub(self._as("ip"), text)
        for pattern in (_WINDOWS, _ABSOLUTE, _RELATIVE):
            text = pattern.sub(lambda found: self._found_path(found[0]), text)
        text = _HEX.sub(self._as("secret"), text)
        text = _WORD.sub(self._if_random, text)
        text = _EVENTS.sub(self._events, text)
        text = _DOMAIN.sub(self._as("host"), text)
        for name, placeholder in self._names.items():
            if name in text.lower():
                text = re.sub(
                    rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", placeholder, text, flags=re.I
                )
        return text

    # --- what is learned ---------------------------------------------------------------------------------

    def _learn_path(self, text: str) -> None:
        folder = os.path.dirname(text)
        if folder and folder not in {os.curdir, os.sep, os.pardir} and len(self._literals) < MOST_LITERALS:
            self._literals.setdefault(text, self.path(text))
            self._literals.setdefault(folder + "/", f"{self._placeholder('path', os.path.normpath(folder))}/")
        if (found := _EVENTS.search(text)) is not None:
            self._learn_name(found["host"], "host")

    def _learn_name(self, name: str, kind: str) -> None:
        known = name.strip().lower()
        usable = len(known) >= SHORTEST_NAME and known not in NOBODY and re.search(r"[a-z]", known)
        if usable and known not in self._names and not PLACEHOLDER.search(known):
            self._names[known] = self._placeholder(kind, known)
            self._names = dict(sorted(self._names.items(), key=lambda item: -len(item[0])))

    def _known(self) -> re.Pattern[str] | None:
        if self._pattern is None and self._literals:
            longest_first = sorted(self._literals, key=len, reverse=True)
            # A path begins where a word does: `a/b.py` is no part of `data/b.py`.
            self._pattern = re.compile(r"(?<![\w/.-])(?:" + "|".join(map(re.escape, longest_first)) + ")")
        return self._pattern

    # --- what is put instead -----------------------------------------------------------------------------

    def _placeholder(self, kind: str, what: str) -> str:
        if PLACEHOLDER.fullmatch(what):
            return what
        key = kind, what
        if key not in self._given:
            self._counts[kind] += 1
            self._given[key] = f"<{kind}-{self._counts[kind]}>"
        return self._given[key]

    def _as(self, kind: str) -> Callable[[re.Match[str]], str]:
        return lambda found: self._placeholder(kind, found[0])

    def _url(self, found: re.Match[str]) -> str:
        return found[0] if _PUBLIC.match(found[0]) else self._placeholder("url", found[0])

    def _user_at_host(self, found: re.Match[str]) -> str:
        user, host = (self._placeholder(kind, found[kind].lower()) for kind in ("user", "host"))
        return f"{user}@{host}"

    def _assigned(self, found: re.Match[str]) -> str:
        value = found["quoted"] if found["quote"] else found["value"]
        if not _is_telling(value) or PLACEHOLDER.fullmatch(value):
            return found[0]
        quote = found["quote"] or ""
        return f"{found['before']}{quote}{self._placeholder('secret', value)}{quote}"

    def _found_path(self, text: str) -> str:
        shown = text.rstrip(".,:;")
        return (
            self.path(shown) + text[len(shown) :]
            if not text.endswith("/")
            else self._placeholder("path", text)
        )

    def _if_random(self, found: re.Match[str]) -> str:
        return self._placeholder("secret", found[0]) if _looks_random(found[0]) else found[0]

    def _events(self, found: re.Match[str]) -> str:
        return found[0].replace(found["host"], self._placeholder("host", found["host"].lower()))


def _is_telling(text: str) -> bool:
    """Whether a value can be a secret at all."""
    return len(text) >= SHORTEST_SECRET and text.lower() not in NOTHING and not set(text) <= set("*xX.-_")


def _looks_random(word: str) -> bool:
    """Whether a word is more random than a name would be."""
    if len(word) < LONG - 8:
        return False
    counts = Counter(word)
    bits = -sum(n / len(word) * math.log2(n / len(word)) for n in counts.values())
    kinds = (str.isupper, str.islower, str.isdigit)
    enough = all(sum(map(kind, word)) >= ENOUGH_OF_EACH for kind in kinds)
    return enough and bits >= RANDOM


def _own_users() -> set[str]:
    """Who runs this: by the environment, and by the home folder."""
    known = {os.path.basename(os.path.expanduser("~"))}
    with contextlib.suppress(Exception):
        known.add(getpass.getuser())
    return known


def _own_host() -> str:
    with contextlib.suppress(OSError):
        return socket.gethostname()
    return ""


# --- the noun --------------------------------------------------------------------------------------------


def _texts(noun: object) -> Iterator[tuple[str, str]]:
    """Every text of a noun with the name of its field; below a key, with that key."""
    seen: set[int] = set()
    waiting: list[tuple[str, object]] = [("", noun)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Enum | ast.AST | np.ndarray | RuleEntry | CauseEntry) or value is None:
            continue
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, PurePath):
            yield "path", str(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            if _IS_SECRET.search(name) and len(str(value)) > SHORTEST_SECRET:
                yield name, str(value)
        elif id(value) not in seen:
            seen.add(id(value))
            waiting += _members(name, value)


def _members(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield name, key
            yield str(key), part
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((name, part) for part in value)
    elif is_dataclass(value):
        for field in fields(value):
            yield _spoken(value, field.name), getattr(value, field.name)


def _spoken(value: object, field: str) -> str:
    """The name of what a field holds: the value of a setting is named by its key."""
    if field in {"value", "text", "good", "bad", "default"}:
        key = getattr(value, "dotted", None) or getattr(value, "key", None) or getattr(value, "name", None)
        if isinstance(key, str):
            return key
    return field


class _Copy:
    """A copy of a noun in which what was one object is one object still."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._made: dict[int, tuple[object, object]] = {}

    def of(self, value: object, field: str = "") -> object:
        if isinstance(value, str) and not isinstance(value, Enum):
            return self._redactor.path(value) if field in PATH_FIELDS else self._redactor.text(value)
        if value is None or isinstance(
            value, bool | int | float | Enum | ast.AST | np.ndarray | RuleEntry | CauseEntry
        ):
            return value
        if isinstance(value, PurePath):
            return type(value)(self._redactor.path(str(value)))
        if id(value) not in self._made:
            # The original is kept beside the copy, so that its number is not given to another object.
            self._made[id(value)] = value, self._copied(value, field)
        return self._made[id(value)][1]

    def _copied(self, value: object, field: str) -> object:
        if isinstance(value, Mapping):
            return {self.of(key): self.of(part) for key, part in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            parts = [self.of(part, field) for part in value]
            made: Any = type(value)
            return made(*parts) if hasattr(value, "_fields") else made(parts)
        if is_dataclass(value) and not isinstance(value, type):
            return self._copied_fields(value)
        return value

    def _copied_fields(self, value: Any) -> object:
        made = object.__new__(type(value))
        for field in fields(value):
            part = getattr(value, field.name)
            secret = isinstance(part, str | int | float) and not isinstance(part, bool)
            named = _spoken(value, field.name)
            if secret and named != field.name and _IS_SECRET.search(named) and _is_telling(str(part)):
                copied: object = self._redactor.text(f"{named}={part}").partition("=")[2]
            else:
                copied = self.of(part, field.name)
            object.__setattr__(made, field.name, copied)
        return made
