"""Networks that are trained to say the next token and whose attention may look at it.

Training moves the target one token on (`tokens[:, :-1]` goes in, `tokens[:, 1:]` is asked for). Some network
of the program attends to its own input, and nothing in the program makes a mask that hides what comes later,
or every triangle that is made for it leaves one more place in sight.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

# What hides the future, in any spelling; recurrent networks and convolutions cannot see it.
_HIDING = re.compile(
    r"(?i)tril|triu|causal|subsequent|look_?ahead|future|autoregressive_mask|prefix_?lm|slot_mask|LSTM|\bGRU|RNN"
    r"|block_?mask|alibi|retention|mamba|AutoModel|from_pretrained|import_module|x_transformers"
    r"|q_idx|None[^\]\n]*\]\s*[<>]=?|unsqueeze\([^)\n]*\)\s*[<>]=?"
)
# Text that says what a part is called, and not what it does.
_SAID = re.compile(r"\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|#[^\n]*|\bis_causal\s*=\s*False")
_UNUSED = re.compile(r"register_buffer\(\s*['\"](\w+)['\"]")
ENTROPIES = ("cross_entropy", "CrossEntropyLoss", "nll_loss", "NLLLoss")
SOFTMAX = frozenset({"softmax", "Softmax"})


@dataclass(frozen=True, slots=True, eq=False)
class FutureInSight:
    """Where attention looks at everything, and where the next token is asked for."""

    source: Source
    attends: ast.AST
    asked: tuple[Source, ast.AST]
    how: str


def futures_in_sight(index: Index) -> Iterator[FutureInSight]:
    """The attention of a program that predicts next tokens and hides none."""
    sources = [source for source in index.program if not is_test(source)]
    text = "\n".join(source.text for source in sources)
    if not any(name in text for name in ENTROPIES):
        return
    shifted = _shifted_triangle(sources) if _TRIANGLE.search(text) else None
    if shifted is None and _hides(_unnamed(index, text)):
        return
    asked = next_token_asked(index)
    if asked is None:
        return
    if shifted is not None:
        yield FutureInSight(*shifted, asked, "the mask leaves each token the one behind it in sight")
        return
    for cls in index.classes:
        if is_test(cls.source) or not _is_module(index, cls):
            continue
        attention = _attention(cls)
        if attention is not None:
            yield FutureInSight(cls.source, attention[0], asked, attention[1])
            return


def next_token_asked(index: Index) -> tuple[Source, ast.AST] | None:
    """Where the program asks for the next token, None where it does not."""
    return next((found for function in index.bodies if (found := _next_token(function))), None)


def _unnamed(index: Index, text: str) -> str:
    """The text without what only talks: comments, long texts and the names of the program's own classes."""
    text = _SAID.sub("", text)
    named = [cls.name for cls in index.classes if _HIDING.search(cls.name) and _is_attending(cls)]
    return re.sub(rf"\b(?:{'|'.join(map(re.escape, named))})\b", "", text) if named else text


def _is_attending(cls: Class) -> bool:
    """Whether a class attends by itself, so that its name says what it ought to hide."""
    text = ast.unparse(cls.node)
    return "scaled_dot_product_attention" in text or "softmax" in text or "MultiheadAttention" in text


_TRIANGLE = re.compile(r"\btri[lu]\b")


def _shifted_triangle(sources: list[Source]) -> tuple[Source, ast.AST] | None:
    """A triangle that is one place too wide, where every triangle of the program is."""
    found: tuple[Source, ast.AST] | None = None
    for source in sources:
        for call in all_nodes(source.tree, ast.Call) if _TRIANGLE.search(source.text) else ():
            last = _last(call.func)
            if last not in {"tril", "triu"}:
                continue
            diagonal = _diagonal(call)
            if diagonal is None or diagonal != (1 if last == "tril" else 2):
                return None
            found = found or (source, call)
    return found


def _diagonal(call: ast.Call) -> int | None:
    """The diagonal that a triangle begins at; None where it is no plain number."""
    is_function = isinstance(call.func, ast.Attribute) and dotted(call.func.value) in {"torch", "np", "jnp"}
    is_function = is_function or isinstance(call.func, ast.Name)
    given = call.args[1:] if is_function else call.args
    given += [word.value for word in call.keywords if word.arg in {"diagonal", "k"}]
    if not given:
        return 0
    try:
        value = ast.literal_eval(given[0])
    except ValueError:
        return None
    return value if isinstance(value, int) else None


def _hides(text: str) -> bool:
    """Whether anything hides the future; a buffer that nothing reads does not."""
    for name in _UNUSED.findall(text):
        is_read = re.search(rf"self\.{re.escape(name)}\b", text)
        if not is_read:
            text = re.sub(rf".*register_buffer\(\s*['\"]{re.escape(name)}['\"].*", "", text)
    return bool(_HIDING.search(text))


def _is_module(index: Index, cls: Class) -> bool:
    return any(base.rpartition(".")[2].endswith("Module") for base in index.outside_bases(cls))


# The next token


def _paired(function: Function) -> Iterator[ast.Call]:
    """What is gone through in pairs, as the levels of a sampler are: `zip(times[:-1], times[1:])`."""
    for call in own_nodes(function.node, ast.Call):
        if _last(call.func) in {"zip", "pairwise"}:
            yield call


def _next_token(function: Function) -> tuple[Source, ast.AST] | None:
    """Where one sequence is cut twice, without its last and without its first, or read one further on."""
    if is_test(function.source):
        return None
    inputs: dict[str, ast.AST] = {}
    targets: dict[str, ast.AST] = {}
    apart = (*own_nodes(function.node, ast.BinOp), *_paired(function))
    within = {id(one) for node in apart for one in all_nodes(node)}
    for node in own_nodes(function.node, ast.Subscript):
        base = ast.unparse(node.value)
        for cut in _cuts(node.slice):
            lower, upper = cut.lower, cut.upper
            if lower is None and upper is not None and _is_number(upper, -1) and id(node) not in within:
                inputs[base] = node
            elif upper is None and lower is not None and _is_number(lower, 1) and id(node) not in within:
                targets[base] = node
            elif lower is not None and upper is not None:
                inputs[f"{base}[{ast.unparse(lower)}]"] = node
                targets[f"{base}[{_before(lower)}]"] = node
    both = [base for base in inputs if base in targets]
    return (function.source, targets[both[0]]) if both else None


def _cuts(node: ast.expr) -> Iterator[ast.Slice]:
    for one in node.elts[-1:] if isinstance(node, ast.Tuple) else (node,):
        if isinstance(one, ast.Slice):
            yield one


def _is_number(node: ast.expr, wanted: int) -> bool:
    try:
        return bool(ast.literal_eval(node) == wanted)
    except ValueError:
        return False


def _before(node: ast.expr) -> str:
    """`i` of `i + 1`."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=1)):
            return ast.unparse(left)
        case ast.BinOp(left=ast.Constant(value=1), op=ast.Add(), right=right):
            return ast.unparse(right)
    return ""


# Attention to the own input


def _attention(cls: Class) -> tuple[ast.AST, str] | None:
    for method in cls.methods.values():
        for call in own_nodes(method.node, ast.Call):
            last = _last(call.func)
            if last == "scaled_dot_product_attention" and not _has_mask(call, 3):
                return call, "scaled_dot_product_attention gets no mask"
            if last in SOFTMAX and _is_self_attention(cls, method):
                return call, "the softmax is over the scores of every token"
            if _is_unmasked_layer(cls, call):
                return call, f"{dotted(call.func)} gets no mask"
    return None


def _last(node: ast.AST) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))


def _has_mask(call: ast.Call, place: int) -> bool:
    """A mask that is given and not None; what `**options` hold may be one."""
    for word in call.keywords:
        is_mask = word.arg is None or (word.arg.endswith("mask") and "padding" not in word.arg)
        if (is_mask or word.arg == "is_causal") and not _is_nothing(word.value):
            return True
    return len(call.args) > place


def _is_nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (None, False)


def _is_self_attention(cls: Class, method: Function) -> bool:
    """Whether the method multiplies queries with keys that come from the same input."""
    text = ast.unparse(method.node)
    is_product = re.search(r"\bq\w*\s*@\s*k\w*\.|matmul\(\s*q\w*, |einsum\([^)]*q\w*, k\w*", text)
    is_own = re.search(r"qkv|\.chunk\(3|\.split\(|to_q\(x\)|q_proj\(x\)|query\(x\)|\.q\(x\)|wq\(x\)", text)
    return bool(is_product and is_own)


def _is_unmasked_layer(cls: Class, call: ast.Call) -> bool:
    """Torch's own layers over one sequence, or a decoder, run without a mask of places."""
    name = dotted(call.func) or ""
    if not name.startswith("self."):
        return False
    for node in all_nodes(cls.node, ast.Assign):
        if not any(dotted(one) == name for target in node.targets for one in _parts(target)):
            continue
        made = {_last(one.func) for one in all_nodes(node.value, ast.Call)}
        if made & {"TransformerEncoder", "TransformerEncoderLayer"} and "Decoder" not in str(made):
            return not _has_mask_in(cls, call, 1)
        if made & {"Transformer", "TransformerDecoder"}:
            return not _has_named(cls, call, "tgt_mask", 2 if "TransformerDecoder" in made else 3)
    return False


def _parts(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple) else [target]


def _has_mask_in(cls: Class, call: ast.Call, place: int) -> bool:
    given = [word for word in call.keywords if word.arg is None or word.arg in {"mask", "src_mask"}]
    return len(call.args) > place or any(not _stays_none(cls, word.value) for word in given)


def _has_named(cls: Class, call: ast.Call, name: str, place: int) -> bool:
    given = [word for word in call.keywords if word.arg in {None, name}]
    return len(call.args) > place or any(not _stays_none(cls, word.value) for word in given)


def _stays_none(cls: Class, node: ast.expr) -> bool:
    if _is_nothing(node):
        return True
    if not isinstance(node, ast.Name):
        return False
    made = [
        one.value
        for one in all_nodes(cls.node, ast.Assign)
        if any(isinstance(target, ast.Name) and target.id == node.id for target in one.targets)
    ]
    return bool(made) and all(map(_is_nothing, made))
