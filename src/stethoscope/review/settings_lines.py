"""Settings in a fenced block, line by line: what is set to what, under which keys, with which remark.

Reads YAML, TOML, INI, JSON, shell variables, flags of a command and assignments alike, because a block in a
document is seldom a whole file of one of them and often a damaged one.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import yaml

from stethoscope.errors import UnreadableFile
from stethoscope.recipe import read_settings
from stethoscope.review.intent import NEW, OLD, intent, marked
from stethoscope.review.parts import Line
from stethoscope.review.values import value_of
from stethoscope.run import Setting

_YAML = re.compile(r"""^(\s*)((?:-\s+)*)["']?([A-Za-z_][\w.\-/@]*)["']?\s*:(?:\s+(.*))?$""")
_JSON = re.compile(r"""^(\s*)[{\s]*"([^"]{1,80})"\s*:\s*(.*?)\s*,?\s*$""")
_EQUALS = re.compile(
    r"^(\s*)(?:export\s+|set\s+|declare\s+|const\s+|\$env:|\$\s+)?([A-Za-z_][\w.\-]*)\s*=(?!=)\s*(.+?)\s*$"
)
_SECTION = re.compile(r"^\s*\[{1,2}\s*([\w.\-\"' ]+?)\s*\]{1,2}\s*$")
_COMMENT = re.compile(r"^\s*(?:#|//|;|--\s|<!--|%)\s*(.*?)\s*(?:-->)?\s*$")
_FLAG = re.compile(
    r"(?:^|\s)--?([A-Za-z][\w.\-]*)(?:=|\s+)(\"[^\"]*\"|'[^']*'|[^\s\\-][^\s\\]*|-\d[^\s\\]*)(?=\s|\\|$)"
)
_OVERRIDE = re.compile(
    r"(?:^|\s)\+{0,2}([A-Za-z_][\w/]*(?:\.[\w]+)+|[A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|[^\s\\]+)(?=\s|\\|$)"
)
_TRAINS = re.compile(
    r"train|finetune|fine_tune|torchrun|accelerate\s+launch|axolotl|deepspeed|llamafactory|main\.py|fit\b|yolo|run_\w+\.py"
)
_COMMAND = re.compile(
    r"^\s*(?:\$\s+)?(?:\w+=\S+\s+)*(?:python3?|torchrun|accelerate|deepspeed|bash|sh|sbatch|axolotl|composer|yolo|\./\S+)\b"
)
_REMARK = re.compile(r"\s(?:#|//|<!--|;;|⬅|←|<-|<--)\s*(.*?)\s*(?:-->)?\s*$")
_WAS = re.compile(
    r"(?:\b(?:was|were|from|previously|formerly|before|old|instead of|down from|up from|originally"
    r"|vorher|statt|war)\b"
    r"[:=\s`(]*)([\w.+\-,\[\] ]*?[\w\]])(?=\s*(?:[),;`]|->|→|=>|to\b|for\b|$))",
    re.IGNORECASE,
)
# Constructors and helpers whose keywords are settings of the training.
_TAKES_SETTINGS = re.compile(
    r"(?:Args|Arguments|Config|Params|Options|Trainer|Accelerator|DataLoader|GradScaler|LR|Scheduler|Lion|SGD"
    r"|Adam\w*|RMSprop|Adafactor|EMA|EarlyStopping|ModelCheckpoint|Dropout|dict|update|create_optimizer\w*"
    r"|create_scheduler\w*|get_\w+_schedule\w*|clip_grad_norm_|Hyper\w*|config|train|fit)$"
)
_PYTHON = frozenset({"python", "py", "python3"})
_KEPT_COMMENT = 3  # words at the head of a comment that may say "before" or "after"
_MOST = 2000  # settings of one block
_MOST_OF_PYTHON = 5000  # lines that are parsed
_DEEPEST = 30  # sections inside each other


@dataclass(frozen=True, slots=True)
class Written:
    """One setting as a block has it. `said` is "old", "new" or "" by the remark and the comments above it.

    `call` names what takes it as a keyword, in Python.
    """

    number: int
    path: tuple[str, ...]
    value: str
    line: str
    remark: str = ""
    before: str = ""
    said: str = ""
    is_marked: bool = False
    call: str = ""


def settings_in(lines: Sequence[Line], syntax: str) -> list[Written]:
    """The settings of a block, in the order of its lines."""
    sections = _sections(lines)
    is_short = len(lines) <= _MOST_OF_PYTHON
    found: Iterable[Written] | None = _python(lines) if syntax in _PYTHON and is_short else None
    found = _json(lines) if syntax == "json" and is_short else found
    if found is None:
        found = _by_line(lines)
        if syntax in _PYTHON:  # damaged source: only what is surely a value
            found = [
                one for one in found if not isinstance(value_of(one.value), str) or one.value[:1] in "\"'"
            ]
    kept = [replace(one, said=one.said or sections.get(one.number, "")) for one in found]
    return kept[:_MOST]


def looks_like_settings(lines: Sequence[Line]) -> bool:
    """Whether most lines of an unnamed block are settings."""
    full = [line for line in lines[:_MOST] if line.text.strip() and not _COMMENT.match(line.text)]
    fits = [line for line in full if _is_setting(line.text)]
    return len(fits) > 0 and len(fits) >= 0.6 * len(full)


def _is_setting(text: str) -> bool:
    found = _YAML.match(text)
    if found:
        return (found[4] is None or not re.search(r"[a-z]{2,}\s+=\s|\s=\s", found[4])) and " " not in found[3]
    return bool(_JSON.match(text) or _EQUALS.match(text) or _SECTION.match(text) or text.strip() in "{}[],")


def _sections(lines: Sequence[Line]) -> dict[int, str]:
    """For each line, what the last telling comment above it says: "# BEFORE", "# FIXED:"."""
    said, found = "", {}
    for line in lines:
        comment = _COMMENT.match(line.text)
        if comment:
            told = _told(comment[1])
            said = told or said
        found[line.number] = said
    return found


def _told(comment: str) -> str:
    head = " ".join(comment.split()[:_KEPT_COMMENT])
    return marked(comment) or intent(head.replace("-", " ").replace("_", " "))


# --- line by line ---------------------------------------------------------------------------------------


def _by_line(lines: Sequence[Line]) -> list[Written]:
    found: list[Written] = []
    open_keys: list[tuple[int, str]] = []
    table: tuple[str, ...] = ()
    trains = True  # whether the command that flags belong to is a training
    for line in lines:
        text = line.text.rstrip()
        if not text.strip() or _COMMENT.match(text):
            continue
        if len(found) > _MOST:
            break
        section = _SECTION.match(text)
        if section:
            table, open_keys = tuple(section[1].replace('"', "").split(".")), []
            continue
        if _COMMAND.match(text):
            trains = bool(_TRAINS.search(text))
            found.extend(_flags(line) if trains else ())
            continue
        one = _of_line(line, table, open_keys)
        if one is not None:
            found.extend(_unfolded(one))
        elif text.strip().startswith("--") and trains:
            found.extend(_flags(line))
    return found


def _of_line(line: Line, table: tuple[str, ...], open_keys: list[tuple[int, str]]) -> Written | None:
    """The setting on a line; `open_keys` are the keys that are open above it, with their depth."""
    text, remark = _without_remark(line.text.rstrip())
    json, yaml, equals = _JSON.match(text), _YAML.match(text), _EQUALS.match(text)
    if json:
        depth, key, value = len(json[1]), json[2], json[3]
    elif yaml:
        depth, key, value = len(yaml[1]) + len(yaml[2]), yaml[3], (yaml[4] or "").strip()
    elif equals:
        depth, key, value = len(equals[1]), equals[2], equals[3]
    else:
        return None
    while open_keys and open_keys[-1][0] >= depth:
        open_keys.pop()
    value = value.strip().rstrip(",;") if not value.startswith(("[", "(")) else value.strip().rstrip(";,")
    if value.endswith("("):
        return None  # a call that is opened
    if value in {"", "{", "[", "|", ">", "{}"} or (
        json and value.startswith("{") and not value.endswith("}")
    ):
        if len(open_keys) < _DEEPEST:
            open_keys.append((depth, key))
        return None
    path = (*table, *(name for _, name in open_keys), *key.split("."))
    return _written(line, path, value, remark)


def _unfolded(one: Written) -> Iterator[Written]:
    """The settings of a mapping on one line: `fp16: {enabled: false}`."""
    if not (one.value.startswith("{") and one.value.endswith("}")):
        yield one
        return
    try:
        inside = yaml.safe_load(one.value)
    except (yaml.YAMLError, ValueError, RecursionError):
        return
    for path, value in _leaves(inside, one.path):
        yield replace(one, path=path, value=str(value) if not isinstance(value, bool) else str(value).lower())


def _leaves(node: object, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _leaves(value, (*above, str(key)))
    else:
        yield above, node


def _written(line: Line, path: tuple[str, ...], value: str, remark: str) -> Written:
    before, said = "", marked(remark)
    was = _WAS.search(remark)
    if was and not said and " " not in was[1].strip():
        before, said = was[1].strip(), NEW
    elif not said and remark:
        said = OLD if re.search(r"\btoo\b|\bzu (?:hoch|niedrig|klein)", remark, re.IGNORECASE) else ""
    return Written(
        line.number, path, value, line.text.strip(), remark, before, said, bool(marked(remark) or before)
    )


def _without_remark(text: str) -> tuple[str, str]:
    """A line and the remark behind it; a mark inside quotes is none."""
    found = _REMARK.search(text)
    if found is None or text[: found.start()].count('"') % 2 or text[: found.start()].count("'") % 2:
        return text, ""
    return text[: found.start()].rstrip(), found[1]


def _flags(line: Line) -> Iterator[Written]:
    text, remark = _without_remark(line.text)
    taken: list[tuple[int, str, str]] = [(m.start(), m[1], m[2]) for m in _FLAG.finditer(text)]
    flagged = {name for _, name, _ in taken}
    taken += [(m.start(), m[1], m[2]) for m in _OVERRIDE.finditer(text) if m[1] not in flagged]
    for _, name, value in sorted(taken):
        path = tuple(name.replace("/", ".").split("."))
        yield _written(line, path, value.strip("\"'"), remark)


def _json(lines: Sequence[Line]) -> list[Written] | None:
    """The values of a whole JSON document; None for what is none, such as one with comments."""
    try:
        settings = read_settings("\n".join(line.text for line in lines), "", "json", lines[0].number)
    except UnreadableFile:
        return None
    values: dict[tuple[str, ...], list[Setting]] = {}
    for setting in settings:
        names = tuple(part for part in setting.key if isinstance(part, str))
        values.setdefault(names, []).append(setting)
    texts = {line.number: line for line in lines}
    found = []
    for path, members in values.items():
        first = members[0]
        is_list = isinstance(first.key[-1], int) if first.key else True
        value = f"[{', '.join(one.text for one in members)}]" if is_list else first.text
        if path and first.where.line in texts:
            found.append(_written(texts[first.where.line], path, value, ""))
    return found


# --- Python ---------------------------------------------------------------------------------------------


def _python(lines: Sequence[Line]) -> list[Written] | None:
    """Constants assigned, or given by keyword to what takes settings; None for what is no Python."""
    text = textwrap.dedent("\n".join(line.text for line in lines))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = [*((*one, "") for one in _assigned(tree)), *_handed(tree)]
    numbered = {line.number - lines[0].number + 1: line for line in lines}
    return [
        replace(_written(numbered[at], path, value, _without_remark(numbered[at].text)[1]), call=call)
        for at, path, value, call in sorted(found, key=lambda one: one[0])
        if at in numbered
    ]


def _assigned(tree: ast.Module) -> Iterator[tuple[int, tuple[str, ...], str]]:
    for node in ast.walk(tree):
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        if not targets or not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        path = _dotted(targets[0])
        if path and _is_constant(node.value):
            yield node.lineno, path, ast.unparse(node.value)
        elif path and isinstance(node.value, ast.Dict):
            yield from _of_dict(node.value, () if _is_whole(path) else path)


def _of_dict(node: ast.Dict, above: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...], str]]:
    for key, value in zip(node.keys, node.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            continue
        if isinstance(value, ast.Dict):
            yield from _of_dict(value, (*above, key.value))
        elif _is_constant(value):
            yield value.lineno, (*above, key.value), ast.unparse(value)


def _handed(tree: ast.Module) -> Iterator[tuple[int, tuple[str, ...], str, str]]:
    assigned = {
        id(node.value): _dotted(node.targets[0]) for node in ast.walk(tree) if isinstance(node, ast.Assign)
    }
    inner: dict[int, tuple[str, ...]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = _dotted(node.func)
        if not called or not _TAKES_SETTINGS.search(called[-1]):
            continue
        is_dict = called[-1] == "dict"
        own = inner.get(id(node)) or (assigned.get(id(node), ()) if is_dict else ())
        for keyword in node.keywords:
            if keyword.arg and _is_constant(keyword.value):
                yield keyword.value.lineno, (*own, keyword.arg), ast.unparse(keyword.value), called[-1]
            elif keyword.arg and isinstance(keyword.value, ast.Call):
                inner[id(keyword.value)] = (*own, keyword.arg)


def _dotted(node: ast.expr) -> tuple[str, ...]:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        above = _dotted(node.value)
        return (*above, node.attr) if above else ()
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        above = _dotted(node.value)
        return (*above, str(node.slice.value)) if above else ()
    return ()


def _is_whole(path: tuple[str, ...]) -> bool:
    return len(path) == 1 and bool(
        re.fullmatch(r"(?i)config|cfg|conf|args|opts?|params|hparams|settings", path[0])
    )


def _is_constant(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_constant(node.operand)
    if isinstance(node, ast.List | ast.Tuple):
        return all(_is_constant(one) for one in node.elts)
    return False
