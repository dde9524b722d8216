"""Settings among the texts of a TensorBoard file, as documents.

add_hparams, Lightning           the hparams plugin: SessionStartInfo {1: {1: name, 2: value}, ...}
Hugging Face, "args"             a JSON object
CleanRL, "hyperparameters"       a table: |param|value|
Megatron                         a text for each argument, named as the argument
add_text("args", str(args))      Namespace(lr=0.1, ...), or the dict of it; or YAML
"""

from __future__ import annotations

import ast
import json
import re
import struct
from collections.abc import Iterable, Mapping

from stethoscope.logs._tensorboard.layouts import NotAnEventError, Text, fields_of
from stethoscope.run import Document

FEWEST_SETTINGS = 3  # fewer are a message rather than settings
FEWEST_LONE_TEXTS = 5  # texts of one line each, from which on they are the arguments of a program
LONGEST_VALUE = 500  # characters of such a text
LONGEST_EXPRESSION = 50_000  # characters that are parsed as Python

_SUFFIX = "/text_summary"  # which PyTorch adds to the tag of a text
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_ROW = re.compile(r"^\s*\|([^|\n]*)\|([^\n]*?)\|?[ \t]*$", re.MULTILINE)
_RULE = re.compile(r"[\s:|-]*")
_FENCE = re.compile(r"^\s*```\w*[ \t]*$|</?pre>", re.MULTILINE)
_YAML_LINE = re.compile(r"\s*(?:- .*|#.*|(?:- )?['\"]?[\w./ -]+['\"]?:(?:\s.*)?)?")
_YAML_KEY = re.compile(r"^[\w.-]+:", re.MULTILINE)

Settings = Mapping[str, object]


def documents_in(texts: Iterable[Text], file: str) -> tuple[tuple[Document, ...], int]:
    """The settings that texts hold, and how many of the texts hold none."""
    documents, lone, passed_over = [], {}, 0
    for text in texts:
        if text.plugin == "hparams":
            found: Settings | None = hyperparameters_in(text.content)
        else:
            words = text.content.decode("utf-8", "replace").strip()
            found = _settings_in(words)
            name = text.tag.removesuffix(_SUFFIX)
            if found is None and (yaml := _yaml_in(words)):
                documents.append(Document(yaml, "yaml", file, 1))
            elif found is None and _NAME.fullmatch(name) and _is_short(words):
                lone[name] = _value_of(words)
            elif found is None:
                passed_over += 1
        if found:
            documents.append(_document(found, file))
    if len(lone) >= FEWEST_LONE_TEXTS:
        documents.append(_document(lone, file))
    else:
        passed_over += len(lone)
    return tuple(documents), passed_over


def _is_short(words: str) -> bool:
    return "\n" not in words and len(words) < LONGEST_VALUE


def _document(settings: Settings, file: str) -> Document:
    return Document(json.dumps(settings, indent=1, default=str) + "\n", "json", file, 1)


# --- texts ------------------------------------------------------------------------------------------


def _settings_in(text: str) -> Settings | None:
    found = _json_in(text) or _table_in(text) or _expression_in(text)
    return found if found and len(found) >= FEWEST_SETTINGS else None


def _json_in(text: str) -> Settings | None:
    bare = _FENCE.sub("", text).strip()
    if not bare.startswith("{"):
        return None
    try:
        found = json.loads(bare)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _table_in(text: str) -> Settings | None:
    """The rows of a Markdown table of two columns, without its heading and the rule below it."""
    if not text.startswith("|"):
        return None
    rows = [(name.strip(), value.strip()) for name, value in _ROW.findall(text)]
    if len(rows) < 2 or not _RULE.fullmatch(rows[1][0]) or any("|" in value for _, value in rows):
        return None
    return {name: _value_of(value) for name, value in rows[2:] if name}


def _expression_in(text: str) -> Settings | None:
    """Python's own print of a dict or of argparse's Namespace; parsed, never run."""
    if not (text.startswith(("{", "Namespace(")) and len(text) < LONGEST_EXPRESSION):
        return None
    try:
        body = ast.parse(text, mode="eval").body
        if isinstance(body, ast.Call):
            return {word.arg: _literal(word.value) for word in body.keywords if word.arg}
        if isinstance(body, ast.Dict):
            pairs = zip(body.keys, body.values, strict=True)
            return {str(_literal(key)): _literal(value) for key, value in pairs if key is not None}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return None


def _literal(node: ast.expr) -> object:
    try:
        return _plain(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError):
        return ast.unparse(node)


def _value_of(text: str) -> object:
    """The value that a program printed so; a string where it is nothing else."""
    try:
        return _plain(ast.literal_eval(text)) if len(text) < LONGEST_VALUE else text
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return text


def _plain(value: object) -> object:
    """The value as JSON can hold it."""
    return value if isinstance(value, bool | int | float | str | list | dict | None) else str(value)


def _yaml_in(text: str) -> str | None:
    bare = _FENCE.sub("", text).strip("\n")
    lines = bare.splitlines()
    if len(_YAML_KEY.findall(bare)) < FEWEST_SETTINGS or not all(
        _YAML_LINE.fullmatch(line) for line in lines
    ):
        return None
    return bare + "\n"


# --- the hparams plugin -----------------------------------------------------------------------------


def hyperparameters_in(content: bytes) -> Settings | None:
    """The hyperparameters of the session that this message starts; None where it is about something else."""
    found: dict[str, object] = {}
    try:
        for key, _, start, end in fields_of(content, 0, len(content)):
            if key == 3:
                for inner, _, first, last in fields_of(content, start, end):
                    if inner == 1:
                        name, value = _entry(content, first, last)
                        _put(found, name, value)
    except (NotAnEventError, struct.error):
        return None
    return found or None


def _entry(content: bytes, start: int, end: int) -> tuple[str, object]:
    name, value = "", None
    for key, _, first, last in fields_of(content, start, end):
        if key == 1:
            name = content[first:last].decode("utf-8", "replace")
        elif key == 2:
            for kind, _, a, b in fields_of(content, first, last):
                value = _protobuf_value(kind, content[a:b])
    return name, value


def _protobuf_value(kind: int, data: bytes) -> object:
    if kind == 2:
        number = float(struct.unpack("<d", data)[0])
        return int(number) if number.is_integer() else number
    if kind == 3:
        return data.decode("utf-8", "replace")
    return data != b"\0" if kind == 4 else None


def _put(settings: dict[str, object], name: str, value: object) -> None:
    """Note a setting; Lightning writes those within others with a slash."""
    *above, last = name.split("/")
    for part in above:
        inner = settings.setdefault(part, {})
        if not isinstance(inner, dict):
            return
        settings = inner
    settings.setdefault(last, value)
