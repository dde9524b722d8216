"""Settings that a program prints into its log before it trains, as documents.

    Namespace(lr=0.1, betas=(0.9, 0.999), device=device(type='cuda'))             argparse
    ------------------------ arguments ------------------------                   Megatron, DeepSpeed
      adam_beta1 ...................................... 0.9
    {'train': {'lr': 0.0002, 'fp16': True}, 'seed': 1}                            a printed dict, or JSON
    TrainingArguments(                                                            transformers
    adam_beta1=0.9,
    )
    optimizer = dict(type='SGD', lr=0.02)                                         mmengine
    train:                                                                        YAML, Hydra, a listing
      lr: 0.1
    Overriding: batch_size = 32                                                   nanoGPT

Each becomes YAML (JSON stays what it is) with a line for every line of the log, so that a value is found
where it stands. A block counts only where several of its keys are those of a training's settings; what does
not read as a whole, and the source that some logs quote, is let go.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import yaml

from stethoscope.logs._text.pairs import message_begins
from stethoscope.run import Document

FEWEST_LINES = 5  # of a listing or a YAML block, which any program may print a few of
FEWEST_WORDS = 2  # keys that are those of settings
MOST_LINES, MOST_CHARACTERS = 4_000, 400_000  # of one block
MOST_DOCUMENTS = 50  # a log into which a run was started again and again
MOST_FAILURES = 200  # blocks that came to nothing; the log prints something else so

_SETTING = re.compile(
    r"(?:^|[_.\-\s'\"({,])(?:lr|learning_rate|batch_size|bs|epochs?|num_epochs|max_epochs|optimizer|optim|seed|weight_decay|momentum"
    r"|warmup\w*|max_steps|max_iters?|total_iters?|num_iters?|train_iters|iterations|dropout|num_workers|workers|device|gpus?"
    r"|fp16|bf16|amp|precision|save_dir|output_dir|work_dir|log_interval|eval_interval|save_interval|logging_steps|resume"
    r"|beta1|beta2|adam_\w+|grad_clip|clip_grad|gradient_\w+|hidden_size|num_layers|n_layers?|n_embd|scheduler|lr_\w+"
    r"|model|arch|dataset|data_dir|data_root|pretrained|loss_scale|crop_size|image_size|img_size|val_interval|num_classes)"
    r"['\"]?\s*(?:[:=]|\.{3,}|\s\|)",
    re.IGNORECASE,
)
_CALL = re.compile(
    r"(?:^|[\s:=])(?P<call>(?:Namespace|Config|\w*(?:Arguments|Args|Config|Options|Params))\()"
)
_MAPPING = re.compile(r"dict|Namespace|ConfigDict|\w*(?:Arguments|Args|Config|Options|Params)")
_BRACE = re.compile(r"(?:^|[\s:=])(?P<brace>\{)")
_DOTTED = re.compile(r"\s*(?P<key>[A-Za-z_][\w.-]{0,80}) \.{3,} (?P<value>.*?)\s*")
_LISTED = re.compile(
    r"(?P<indent>[ \t]*)(?:- )?(?P<key>['\"]?[A-Za-z_][\w./-]{0,80}['\"]?)\s*"
    r"(?::(?=\s|$)|=(?!=))\s*(?P<value>.*?)\s*"
)
_LIST_ITEM = re.compile(r"\s*- .*|\s+[\]}],?\s*|\s*\}\s*")
_ASSIGNED = re.compile(r"[A-Za-z_]\w* = (?:dict\(|[\[({'\"]|None\b|True\b|False\b|-?[\d.])")
_OVERRIDING = re.compile(r"Overriding: (?P<key>[A-Za-z_]\w*) = (?P<value>.*)")
_RULE = re.compile(r"\s*[-=*#_]{5,}.*")
_DEFAULT = re.compile(r"\s*\[default: .*\]\s*$")
_ADDRESS = re.compile(r"<[^<>\n'\"]{1,200}>")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# What is a line break to Python or YAML and none to the log.
_BREAKS = dict.fromkeys(map(ord, "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")
_QUOTED = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")
_EXPONENT = re.compile(r"(-?\d+)(e[-+]?\d+)")
# What measures is no setting: a block with one of these is a record of training.
_MEASURED = re.compile(
    r"(?<!\w)['\"]?(?:train_|val_|eval_|valid_|test_)?loss['\"]?\s*[:=]\s*-?\d"
    r"|(?<!\w)['\"]?epoch['\"]?\s*[:=]\s*\d+\.\d",
    re.IGNORECASE,
)


def may_begin(line: str) -> bool:
    """Whether a line may be the first of printed settings; the same for all lines of one shape."""
    return _kind_of(line) is not None


def calls_with_settings(line: str) -> bool:
    """Whether a line prints settings as a call does: its numbers are no measurements."""
    call = _CALL.search(line) if "(" in line else None
    return call is not None and _SETTING.search(line, call.end()) is not None


@dataclass(slots=True)
class DumpedSettings:
    """Collects printed settings from the lines it is shown; while `is_open`, it wants every line."""

    file: str
    found: list[Document] = field(default_factory=list)
    block: _Block | None = None
    failures: int = 0

    @property
    def is_open(self) -> bool:
        """Whether a block has begun and not ended."""
        return self.block is not None

    @property
    def is_listing(self) -> bool:
        """Whether the block that has begun has one value on a line, and nothing that says where it ends."""
        return self.block is not None and self.block.kind in {"listed", "dotted", "overriding"}

    def see(self, number: int, line: str, step: int | None = None) -> None:
        """Look at one line."""
        if self.block is not None:
            if self.block.takes(number, line):
                if self.block.ended:
                    self._close()
                return
            self._close()
        kind = _kind_of(line) if len(self.found) < MOST_DOCUMENTS and self.failures < MOST_FAILURES else None
        if kind is not None:
            self.block = _Block(kind, number, line)
            if self.block.ended:
                self._close()

    def documents(self) -> tuple[Document, ...]:
        """The settings found so far, each text once."""
        last = (
            self.block.document(self.file)
            if self.block is not None and self.block.kind != "balanced"
            else None
        )
        known = {document.text for document in self.found}
        return (*self.found, last) if last is not None and last.text not in known else tuple(self.found)

    def _close(self) -> None:
        block, self.block = self.block, None
        document = block.document(self.file) if block is not None else None
        if document is None:
            self.failures += 1
        elif all(document.text != other.text for other in self.found):
            self.found.append(document)


# --- one block ----------------------------------------------------------------------------------------


def _kind_of(line: str) -> str | None:
    """How a line begins settings; None for not at all."""
    if "{" in line or "(" in line:
        bare = line.rstrip()
        call = _CALL.search(bare)
        if call is not None and (bare.endswith("(") or _SETTING.search(bare, call.end())):
            return "call" if bare.endswith("(") else "balanced"
        if _BRACE.search(bare) and (bare.endswith("{") or _SETTING.search(bare)):
            return "balanced"
    begins = message_begins(line)
    if _DOTTED.fullmatch(line, begins):
        return "dotted"
    if _OVERRIDING.fullmatch(line, begins):
        return "overriding"
    if _ASSIGNED.match(line, begins) and begins == 0:
        return "assigned"
    listed = _LISTED.fullmatch(line, begins)
    return "listed" if listed and len(line) < 500 and _is_plain(listed) else None


def _is_plain(listed: re.Match[str]) -> bool:
    """Whether a line holds one key and one value, and not a sentence or several pairs."""
    value = listed["value"]
    return not re.search(r"\w\s*[:=] ?-?\d.*[,|]\s*\w+\s*[:=]|\|", value) and value.count(" ") < 12


@dataclass(slots=True)
class _Block:
    """Lines that may be settings."""

    kind: str
    first: int
    opening: str
    lines: list[str] = field(default_factory=list)
    last: int = 0
    depth: int = 0
    size: int = 0
    ended: bool = False

    def __post_init__(self) -> None:
        self.last = self.first
        self.lines = [self._own(self.opening).translate(_BREAKS)]
        if self.kind == "balanced" or (self.kind == "dotted" and self.lines[0].rstrip().endswith("{")):
            self.depth = _depth(self.lines[0])
            self.ended = self.kind == "balanced" and self.depth <= 0

    def takes(self, number: int, line: str) -> bool:
        """Take the next line, unless the block ended before it."""
        self.size += len(line)
        if number > self.last + 1 or len(self.lines) >= MOST_LINES or self.size > MOST_CHARACTERS:
            return False
        own = line if self.kind in {"balanced", "call", "assigned"} else self._own(line)
        own = own.translate(_BREAKS)
        if not (self.kind == "dotted" and self.depth > 0) and not _BELONGS[self.kind](own):
            return False
        self.lines.append(own)
        self.last = number
        if self.kind == "balanced":
            self.depth += _depth(own)
            self.ended = self.depth <= 0
        elif self.kind == "dotted" and (self.depth > 0 or own.rstrip().endswith("{")):
            self.depth += _depth(own)  # DeepSpeed prints objects of several lines between
        elif self.kind == "call":
            self.ended = own.strip() in {")", "),"}
        return True

    def document(self, file: str) -> Document | None:
        """The block as a document; None where it is no settings."""
        text = "\n".join(self.lines)
        words = {found[0].strip(" '\"({,:=._-").lower() for found in _SETTING.finditer(text)}
        if len(words) < FEWEST_WORDS or _MEASURED.search(text):
            return None
        if self.kind in {"listed", "dotted", "assigned"} and len(self.lines) < FEWEST_LINES:
            return None
        try:
            read = _READ[self.kind](self.lines)
        except (ValueError, SyntaxError, RecursionError, MemoryError, yaml.YAMLError, IndexError):
            return None
        if read is None or (read[0] == "yaml" and not _is_mapping_of_yaml(read[1])):
            return None
        return Document(read[1], read[0], file, self.first)

    def _own(self, line: str) -> str:
        """A line without its logger's prefix, and without what leads up to a bracket."""
        if self.kind in {"balanced", "call"}:
            found = _CALL.search(line) or _BRACE.search(line)
            return line[found.start(found.lastgroup or 0) :] if found else line
        return line[message_begins(line) :]


_BELONGS: dict[str, Callable[[str], bool]] = {
    "balanced": lambda _: True,
    "call": lambda _: True,
    "dotted": lambda line: _DOTTED.fullmatch(line) is not None,
    "overriding": lambda line: _OVERRIDING.fullmatch(line) is not None,
    "assigned": lambda line: (
        not line.strip() or line[:1].isspace() or line[:1] in ")]}#" or bool(_ASSIGNED.match(line))
    ),
    "listed": lambda line: (
        bool(_LISTED.fullmatch(line) or _LIST_ITEM.fullmatch(line)) and not _RULE.fullmatch(line)
    ),
}


def _depth(text: str) -> int:
    """How many more brackets a line opens than it closes, strings left out."""
    bare = _QUOTED.sub("", text)
    return sum(map(bare.count, "([{")) - sum(map(bare.count, ")]}"))


# --- what the kinds say, as YAML ------------------------------------------------------------------------


def _read_balanced(lines: Sequence[str]) -> tuple[str, str] | None:
    """A dict, a JSON object, or a call with its arguments."""
    text = "\n".join(lines)
    if text.lstrip().startswith("{"):
        end = text.rindex("}") + 1
        try:
            if isinstance(json.loads(text[:end]), dict):
                return "json", text[:end] + "\n"
        except ValueError:
            pass
    text = text[: max(text.rfind("}"), text.rfind(")")) + 1]
    text = _ADDRESS.sub(lambda address: json.dumps(address[0]), text)  # <object at 0x7f..>
    return "yaml", _spliced(text, list(_edits(ast.parse(text, mode="eval").body)))


def _read_call(lines: Sequence[str]) -> tuple[str, str] | None:
    """One argument on a line, its value printed without quotes."""
    read = [""]
    for line in lines[1:]:
        key, sign, value = line.strip().rstrip(",").partition("=")
        read.append(f"{key}: {_flow(_value(value))}" if sign and key.isidentifier() else "")
    return ("yaml", "\n".join(read) + "\n") if sum(map(bool, read)) >= FEWEST_LINES else None


def _read_pairs(pattern: re.Pattern[str]) -> Callable[[Sequence[str]], tuple[str, str] | None]:
    def read(lines: Sequence[str]) -> tuple[str, str] | None:
        found = [_no_object(pattern.fullmatch(line)) for line in lines]
        keys = [one["key"] for one in found if one]
        if len(set(keys)) < len(keys):
            return None  # what is printed again and again is no setting
        text = [
            f"{one['key'].strip(_MARKS)}: {_flow(_value(_DEFAULT.sub('', one['value'])))}" if one else ""
            for one in found
        ]
        return "yaml", "\n".join(text) + "\n"

    return read


def _no_object(found: re.Match[str] | None) -> re.Match[str] | None:
    """A pair, unless its value is an object that goes on over the next lines."""
    return None if found is None or found["value"].endswith("{") else found


_MARKS = "'\""


def _is_mapping_of_yaml(text: str) -> bool:
    """Whether a text reads as YAML, and is keys with values."""
    try:
        return isinstance(yaml.compose(text, Loader=_LOADER), yaml.MappingNode)
    except (yaml.YAMLError, UnicodeError, RecursionError):
        return False


def _read_listed(lines: Sequence[str]) -> tuple[str, str] | None:
    """YAML as it stands, or a listing whose keys are set apart in some other way."""
    pairs = [found for line in lines if (found := _LISTED.fullmatch(line))]
    if sum(_is_source(one) for one in pairs) * 10 > len(pairs):
        return None
    text = "\n".join(_as_written(line) for line in lines) + "\n"
    try:
        loaded = yaml.compose(text, Loader=_LOADER)
    except (yaml.YAMLError, UnicodeError, RecursionError):
        loaded = None
    if isinstance(loaded, yaml.MappingNode):
        keys = [key.value for key, _ in loaded.value if isinstance(key, yaml.ScalarNode)]
        return ("yaml", text) if len(set(keys)) == len(keys) == len(loaded.value) else None
    return _read_pairs(_LISTED)(lines)


def _is_source(pair: re.Match[str]) -> bool:
    """Whether a pair is a line of source that the log quotes, or of an object, or a sentence about one."""
    key, value = pair["key"], pair["value"]
    code = key.startswith("self.") or value.endswith((",", "(", "[", "{", "}", ".")) or " = " in value
    return code or re.search(r"[A-Za-z_]\(|\blambda\b|\w \* \w|==|\b(?:the|is|of|to) ", value) is not None


def _as_written(line: str) -> str:
    """A line of YAML with Python's way of writing None and floats."""
    found = _LISTED.fullmatch(line)
    if found is None or line.lstrip().startswith("- "):
        return line
    value = found["value"]
    if value == "None" or _EXPONENT.fullmatch(value):
        return f"{found['indent']}{found['key']}: {_flow(_value(value))}"
    return line


def _read_assigned(lines: Sequence[str]) -> tuple[str, str] | None:
    """Assignments of literals and dict(...)."""
    module = ast.parse("\n".join(lines))
    if len(module.body) < FEWEST_LINES:
        return None
    assignments = [node for node in module.body if isinstance(node, ast.Assign)]
    if len(assignments) < len(module.body) or not all(
        isinstance(n.targets[0], ast.Name) for n in assignments
    ):
        return None
    edits = [edit for node in assignments for edit in _assignment(node)]
    return "yaml", _spliced("\n".join(lines), edits, indent=True)


_READ: dict[str, Callable[[Sequence[str]], tuple[str, str] | None]] = {
    "balanced": _read_balanced,
    "call": _read_call,
    "dotted": _read_pairs(_DOTTED),
    "overriding": _read_pairs(_OVERRIDING),
    "assigned": _read_assigned,
    "listed": _read_listed,
}

# A place in a text, as line and column, its end, and what stands there instead.
_Edit = tuple[tuple[int, int], tuple[int, int], str]


def _assignment(node: ast.Assign) -> Iterator[_Edit]:
    target = node.targets[0]
    yield (
        (target.end_lineno or 1, target.end_col_offset or 0),
        (node.value.lineno, node.value.col_offset),
        ": ",
    )
    yield from _edits(node.value)


def _edits(node: ast.expr) -> Iterator[_Edit]:
    """What must change in a Python literal for it to be YAML, every value on the line it stands on."""
    begin, end = (node.lineno, node.col_offset), (node.end_lineno or 1, node.end_col_offset or 0)
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise ValueError("a dict unpacked into another")
            yield from _edits(key)
            yield from _edits(value)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set):
        bracketed = not isinstance(node, ast.Tuple)
        if not bracketed:
            yield begin, (begin[0], begin[1] + 1), "["
            yield (end[0], end[1] - 1), end, "]"
        for element in node.elts:
            yield from _edits(element)
    elif isinstance(node, ast.Call) and _is_mapping(node):
        opened = (node.func.end_lineno or 1, (node.func.end_col_offset or 0) + 1)
        yield begin, opened, "{"
        for keyword in node.keywords:
            if keyword.arg is None:
                raise ValueError("a dict unpacked into a call")
            yield (
                (keyword.lineno, keyword.col_offset),
                (keyword.value.lineno, keyword.value.col_offset),
                f"{keyword.arg}: ",
            )
            yield from _edits(keyword.value)
        yield (end[0], end[1] - 1), end, "}"
    else:
        try:
            said = _flow(ast.literal_eval(node))
        except ValueError:
            said = json.dumps(ast.unparse(node))
        yield begin, end, said


def _is_mapping(node: ast.Call) -> bool:
    """Whether a call names settings, as dict(lr=0.1) does and device(type='cuda') does not."""
    named = isinstance(node.func, ast.Name) and _MAPPING.fullmatch(node.func.id) is not None
    return named and not node.args and bool(node.keywords)


def _spliced(text: str, edits: list[_Edit], indent: bool = False) -> str:
    """The text with its edits; with `indent`, lines that go on a value are set off from the keys."""
    raw = [line.encode() for line in text.split("\n")]  # ast counts bytes
    for (first, start), (last, end), said in sorted(edits, reverse=True):
        if first == last:
            raw[first - 1] = raw[first - 1][:start] + said.encode() + raw[first - 1][end:]
        else:  # a string over several lines
            raw[first - 1] = raw[first - 1][:start] + said.encode()
            raw[last - 1] = raw[last - 1][end:]
            raw[first : last - 1] = [b""] * (last - 1 - first)
    lines = [line.decode("utf-8", errors="replace") for line in raw]
    if indent:
        keyed = re.compile(r"[A-Za-z_]\w*: ")
        lines = [line if keyed.match(line) or not line.strip() else f" {line}" for line in lines]
    return "\n".join(lines) + "\n"


def _value(text: str) -> object:
    """What a printed value is: a Python literal, else the text itself."""
    text = text.strip()
    try:
        return ast.literal_eval(text) if len(text) < 10_000 else text
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return {"true": True, "false": False, "null": None}.get(text, text)


def _flow(value: object) -> str:
    """A value on one line of YAML."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not math.isfinite(value):
            return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
        return _EXPONENT.sub(r"\1.0\2", repr(value)) if "." not in repr(value) else repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list | tuple | set | frozenset):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(str(key))}: {_flow(held)}" for key, held in value.items()) + "}"
    return json.dumps(str(value))
