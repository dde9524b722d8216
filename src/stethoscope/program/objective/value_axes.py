"""The axes of a value: how many it has, and which of them hold a single number.

`net(x)` of a last layer with one unit is a column, (n, 1); a target with one number for each sample is a row,
(n,). What is not certain is not known, and neither is anything that is made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from stethoscope.program.data.batches import drawn_from, is_loader
from stethoscope.program.data.ingredients import part_path
from stethoscope.program.walk.chained_layers import layers_of
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    Items,
    Leaf,
    Outside,
    Part,
    Value,
    is_nothing,
)

# The size of each axis, None where it is not known.
Axes = tuple[int | None, ...]

DEPTH = 40
ROW: Axes = (None,)
FLAT_TYPES = (int, float, bool, complex)
# fmt: off
SAME = frozenset({
    "relu", "sigmoid", "tanh", "exp", "log", "log1p", "expm1", "sqrt", "rsqrt", "abs", "square", "neg",
    "pow", "clamp", "clip", "clamp_min", "clamp_max", "softplus", "softmax", "log_softmax",
    "logsigmoid", "silu", "gelu", "elu", "leaky_relu", "sin", "cos", "float", "double", "half", "long",
    "int", "bool", "to", "cuda", "cpu", "detach", "clone", "contiguous", "type", "type_as", "astype",
    "numpy", "copy", "requires_grad_", "nan_to_num", "round", "sign", "dropout", "layer_norm", "cumsum",
    "flip", "from_numpy", "asarray", "as_tensor", "tensor", "array", "Tensor", "FloatTensor",
    "fit_transform", "transform", "fillna", "dropna", "values", "to_numpy", "roll", "erf", "sort",
    "reciprocal", "zeros_like", "ones_like", "rand_like", "randn_like", "normalize", "float32",
    "float64", "log2", "log10", "head", "sample", "**", "masked_fill", "unscaled", "abs_",
    "share_memory_",
})
JOINING = frozenset({
    "+", "-", "*", "/", "add", "sub", "mul", "div", "maximum", "minimum", "where", "<", ">", "<=", ">=",
    "==", "!=", "lerp", "&", "|", "%", "//",
})
REDUCING = frozenset({
    "mean", "sum", "max", "min", "amax", "amin", "argmax", "argmin", "prod", "std", "var", "norm",
    "median", "logsumexp", "any", "all", "nanmean", "nansum",
})
KEEPING_LAYERS = frozenset({
    "ReLU", "Sigmoid", "Tanh", "Softplus", "SiLU", "GELU", "ELU", "LeakyReLU", "Dropout", "LayerNorm",
    "Identity", "BatchNorm1d", "Softmax", "LogSoftmax", "Hardtanh", "SELU", "Mish", "ReLU6", "PReLU",
    "LogSigmoid",
})
# What is one number for each step of an episode.
OF_ONE_STEP = frozenset({"reward", "rew", "done", "terminated", "terminal", "truncated"})
DRAWN = frozenset({
    "rand", "randn", "zeros", "ones", "empty", "randint", "uniform", "normal", "full", "random",
})
COUNTED = frozenset({
    "linspace", "arange", "logspace", "randperm", "permutation",
})
OF_TABLES = frozenset({"iloc", "loc", "at", "iat", "columns", "index", "shape", "T", "dtypes"})
TABLES = frozenset({
    "read_csv", "read_excel", "read_parquet", "read_table", "read_feather", "DataFrame",
})
WHOLE_TABLES = frozenset({
    "drop", "get_dummies", "fillna", "dropna", "reset_index", "astype", "sample", "copy",
    "drop_duplicates", "sort_values",
})
# fmt: on


def axes_of(run: Execution, value: Value, depth: int = DEPTH) -> Axes | None:
    """The axes of a value; None where they are not known."""
    if depth == 0:
        return None
    match value:
        case Constant(value=known) if isinstance(known, FLAT_TYPES):
            return ()
        case Leaf(name="index"):
            return ()  # the number of an item
        case Part(key=str() as key) if key in OF_ONE_STEP and _is_of_each(value):
            return ()
        case Delayed():
            return axes_of(run, run.expand(value), depth - 1)
        case Choice(options=options):
            found = {axes_of(run, option, depth - 1) for option in options}
            return found.pop() if len(found) == 1 else None
        case Items(items=items):
            inner = {axes_of(run, item, depth - 1) for item in items}
            known_inner = inner.pop() if len(inner) == 1 else None
            count = (
                None if any(isinstance(item, Part) and _is_of_each(item) for item in items) else len(items)
            )
            return (count, *known_inner) if known_inner is not None else None
        case Part():
            return _of_part(run, value, depth)
        case Applied():
            return _of_application(run, value, depth)
    return None


def _is_of_each(part: Part) -> bool:
    """Whether a part is that of each of many things: `step.reward for step in steps`."""
    return isinstance(part.base, Part) and part.base.key == "*"


# Parts: batches, columns of tables, what sorting and largest values give


def _of_part(run: Execution, part: Part, depth: int) -> Axes | None:
    base, keys = part_path(part)
    if is_loader(base) and isinstance(base, Applied) and keys[:1] == ("*",):
        return _of_batch(run, base, keys[1:], depth)
    inner = part.base
    if isinstance(inner, Delayed) and isinstance(part.key, int):
        given = run.expand(inner)
        if isinstance(given, Items) and 0 <= part.key < len(given.items):
            return axes_of(run, given.items[part.key], depth - 1)
    if part.key in {"values", "T", "data", "target"} and not isinstance(inner, Applied):
        return axes_of(run, inner, depth - 1) if part.key in {"values", "data"} else None
    if isinstance(inner, Applied):
        name = inner.callee.rpartition(".")[2]
        if part.key in {"values", "indices", 0, 1} and name in {"max", "min", "sort", "topk", "median"}:
            is_kept = name in {"sort", "topk"}
            return axes_of(run, inner.args[0], depth - 1) if is_kept else axes_of(run, inner, depth - 1)
        if name == "train_test_split" and isinstance(part.key, int):
            place = part.key // 2
            return axes_of(run, inner.args[place], depth - 1) if place < len(inner.args) else None
        if part.key == "values":
            return axes_of(run, inner, depth - 1)
        if name in {"chunk", "split", "unbind"} and (isinstance(part.key, int) or part.key == "*"):
            return _of_piece(run, inner, name, depth)
        if _is_of_samples(inner, name, part.key):
            return ROW
    if _is_table(run, inner) and isinstance(part.key, str) and part.key not in OF_TABLES:
        return ROW
    axes = axes_of(run, inner, depth - 1) if isinstance(part.key, int) or part.key == "*" else None
    return axes[1:] if axes else None


def _is_of_samples(made: Applied, name: str, key: str | int) -> bool:
    """The targets of the data sets that come with scikit-learn: one number for each sample."""
    is_sklearn = "sklearn.datasets" in made.callee
    return is_sklearn and (key == "target" or (key == 1 and name.startswith(("load_", "fetch_", "make_"))))


def _of_piece(run: Execution, whole: Applied, name: str, depth: int) -> Axes | None:
    """A part of `x.chunk(2, -1)`, `x.split(1, 1)` or `x.unbind(-1)`."""
    axes = axes_of(run, whole.args[0], depth - 1)
    place = _place(axes, whole.args[2:] if name != "unbind" else whole.args[1:], whole.keywords, 0)
    if axes is None or place is None:
        return None
    if name == "unbind":
        return axes[:place] + axes[place + 1 :]
    count = whole.args[1].value if len(whole.args) > 1 and isinstance(whole.args[1], Constant) else None
    if name == "split" and not isinstance(count, int):
        return (*axes[:place], None, *axes[place + 1 :])
    if not isinstance(count, int) or count < 1:
        return None
    size = axes[place]
    piece = count if name == "split" else (-(-size // count) if size is not None else None)
    return (*axes[:place], piece, *axes[place + 1 :])


def _of_batch(run: Execution, loader: Applied, keys: Sequence[str | int], depth: int) -> Axes | None:
    options = {**dict(zip(("dataset",), loader.args, strict=False)), **loader.keywords}
    found: set[Axes | None] = set()
    is_collated = "collate_fn" in options and not is_nothing(options["collate_fn"])
    dataset = options.get("dataset")
    is_whole = dataset is not None and _is_tensor_dataset(run, dataset)
    for value in drawn_from(run, loader, keys):
        axes = axes_of(run, value, depth - 1)
        if axes is None or (is_whole and not axes):
            return None
        found.add(axes if is_collated else (None, *axes[1:]) if is_whole else (None, *axes))
    return found.pop() if len(found) == 1 else None


def _is_tensor_dataset(run: Execution, dataset: Value) -> bool:
    for _ in range(DEPTH):
        dataset = run.force(dataset)
        match dataset:
            case Part(base=Applied(callee=callee, args=[inner, *_])) if callee.endswith("random_split"):
                dataset = inner
            case Applied(callee=callee, args=[inner, *_]):
                name = callee.rpartition(".")[2]
                if name == "TensorDataset":
                    return True
                if name not in {"random_split", "Subset"}:
                    return False
                dataset = inner
            case _:
                return False
    return False


def _is_table(run: Execution, value: Value) -> bool:
    """Whether a value is a table of named columns."""
    for _ in range(DEPTH):
        if isinstance(value, Delayed):
            value = run.expand(value)
        if not isinstance(value, Applied):
            return False
        name = value.callee.rpartition(".")[2]
        if name in TABLES:
            return "pandas" in value.callee or name.startswith("read_")
        of_rows = value.args[0] if value.callee == "[]" else None
        is_by_place = isinstance(of_rows, Part) and of_rows.key in {"iloc", "loc"}
        if isinstance(of_rows, Part) and is_by_place:
            if isinstance(value.args[1], Items | Constant):
                return False  # columns are chosen too
            value = of_rows.base
            continue
        is_cut = value.callee == "[]" and isinstance(value.args[1], Applied)
        is_written = value.callee == "[]="
        is_whole = name in WHOLE_TABLES or value.callee in {"-", "+", "*", "/"}
        if not (is_cut or is_written or is_whole) or not value.args:
            return False
        value = value.args[0]
    return False


# Calls and operators


def _of_application(run: Execution, value: Applied, depth: int) -> Axes | None:
    if value.callee.endswith("()") and value.callee != "()":
        return _of_layer(run, value, depth)
    name = value.callee.rpartition(".")[2]
    if value.callee == "[]":
        return _of_item(run, value, depth)
    if value.callee == "[]=":
        return axes_of(run, value.args[0], depth - 1)
    if value.callee in {"float", "int", "len"} or name == "item":
        return ()
    if value.callee == "neg" or (name in SAME and value.args):
        return axes_of(run, value.args[0], depth - 1)
    if name in JOINING:
        return joined([axes_of(run, arg, depth - 1) for arg in value.args if not _is_said(arg)])
    shaped = SHAPING.get(name)
    if shaped is not None and value.args:
        return shaped(run, value, depth)
    if name in REDUCING and value.args:
        return _reduced(run, value, depth)
    if name in DRAWN or name in COUNTED:
        return _made(value, name)
    if name == "pop" and value.args and _is_table(run, value.args[0]):
        return ROW
    return None


def _is_said(value: Value) -> bool:
    """What is no array: a text, a type or nothing."""
    return is_nothing(value) or isinstance(value, Outside)


def joined(all_axes: Sequence[Axes | None]) -> Axes | None:
    """What broadcasting makes of several arrays."""
    if not all_axes or any(axes is None for axes in all_axes):
        return None
    known = [axes for axes in all_axes if axes is not None]
    rank = max(map(len, known))
    padded = [(1,) * (rank - len(axes)) + axes for axes in known]
    return tuple(_joined_size([axes[place] for axes in padded]) for place in range(rank))


def _joined_size(sizes: Sequence[int | None]) -> int | None:
    larger = {size for size in sizes if size != 1}
    return larger.pop() if len(larger) == 1 else None if larger else 1


def _of_layer(run: Execution, value: Applied, depth: int) -> Axes | None:
    name = value.callee.removesuffix("()").rpartition(".")[2]
    given = axes_of(run, value.args[0], depth - 1) if value.args else None
    if name == "Sequential":
        layers = layers_of(run, value.maker) if value.maker is not None else None
        for layer in layers or ():
            given = _through(run, layer, given)
        return given
    return _through(run, value.maker, given) if value.maker is not None else None


def _through(run: Execution, layer: Value, given: Axes | None) -> Axes | None:
    """The axes of what a layer gives."""
    layer = run.force(layer)
    if not isinstance(layer, Applied):
        return None
    name = layer.callee.rpartition(".")[2]
    if name in KEEPING_LAYERS:
        return given
    if name == "Linear":
        out = layer.args[1] if len(layer.args) > 1 else layer.keywords.get("out_features")
        size = out.value if isinstance(out, Constant) and isinstance(out.value, int) else None
        return (*given[:-1], size) if given else (None, size)
    if name == "Flatten":
        start = layer.args[0] if layer.args else layer.keywords.get("start_dim", Constant(1))
        return (None,) if isinstance(start, Constant) and start.value == 0 else (None, None)
    return None


def _of_item(run: Execution, value: Applied, depth: int) -> Axes | None:
    base, key = value.args[0], value.args[1]
    if isinstance(key, Constant) and isinstance(key.value, str):
        return ROW if _is_table(run, base) else None
    axes = axes_of(run, base, depth - 1)
    if axes is None:
        return None
    left, found = list(axes), list[int | None]()
    for one in key.items if isinstance(key, Items) and not _is_list(key) else [key]:
        if is_nothing(one):
            found.append(1)
            continue
        if isinstance(one, Constant) and one.value is ...:
            rest = len(key.items) - key.items.index(one) - 1 if isinstance(key, Items) else 0
            while len(left) > rest:
                found.append(left.pop(0))
            continue
        if not left:
            return None
        size = left.pop(0)
        picked = _picked(run, one, size, depth)
        if picked is None:
            return None
        found.extend(picked)
    return (*found, *left)


def _is_list(key: Items) -> bool:
    return all(isinstance(one, Constant) and isinstance(one.value, str) for one in key.items)


def _picked(run: Execution, key: Value, size: int | None, depth: int) -> Axes | None:
    match key:
        case Constant(value=slice() as cut):
            return (_length(cut, size),)
        case Constant(value=bool()):
            return None
        case Constant(value=int()) | Leaf(name="index"):
            return ()
        case Applied(callee="slice", args=args):
            ends = [one.value if isinstance(one, Constant) else ... for one in args]
            if all(end is None or isinstance(end, int) for end in ends):
                return (_length(slice(*ends), size),)
            return (None,)
        case Items(items=items):
            return (len(items),)
    return axes_of(run, key, depth - 1)


def _length(cut: slice, size: int | None) -> int | None:
    if size is not None:
        return len(range(size)[cut])
    if cut == slice(-1, None) or (cut.start in {None, 0} and cut.stop == 1):
        return 1
    if isinstance(cut.start, int) and isinstance(cut.stop, int) and 0 <= cut.start < cut.stop:
        return cut.stop - cut.start
    return None


def _number(value: Value) -> int | None:
    match value:
        case Constant(value=bool()):
            return None
        case Constant(value=int() as number):
            return number
        case Applied(callee="neg", args=[Constant(value=int() as number)]):
            return -number
    return None


def _place(
    axes: Axes | None, args: Sequence[Value], keywords: Mapping[str, Value], usual: int | None = None
) -> int | None:
    """The axis that a call names, counted from the front."""
    said = args[0] if args else keywords.get("dim", keywords.get("axis"))
    number = _number(said) if said is not None else usual
    if axes is None or number is None or not -len(axes) <= number < len(axes):
        return None
    return number % len(axes)


def _reduced(run: Execution, value: Applied, depth: int) -> Axes | None:
    axes = axes_of(run, value.args[0], depth - 1)
    name = value.callee.rpartition(".")[2]
    said = value.args[1:] if name != "norm" else value.args[2:]
    if not said and not {"dim", "axis"} & value.keywords.keys():
        return ()
    place = _place(axes, said, value.keywords)
    if axes is None or place is None or (place == 0 and len(axes) > 1):
        return None  # over the samples: what is left counts something else than they do
    kept = value.keywords.get("keepdim", value.keywords.get("keepdims", said[1] if len(said) > 1 else None))
    is_kept = isinstance(kept, Constant) and kept.value is True
    return (*axes[:place], 1, *axes[place + 1 :]) if is_kept else axes[:place] + axes[place + 1 :]


def _squeezed(run: Execution, value: Applied, depth: int) -> Axes | None:
    axes = axes_of(run, value.args[0], depth - 1)
    if axes is None:
        return None
    if len(value.args) == 1 and not value.keywords:
        # A batch of one is rare: what has no known size stays.
        return tuple(size for size in axes if size != 1)
    place = _place(axes, value.args[1:], value.keywords)
    if place is None:
        return None
    return axes[:place] + axes[place + 1 :] if axes[place] == 1 else axes if axes[place] else None


def _unsqueezed(run: Execution, value: Applied, depth: int) -> Axes | None:
    axes = axes_of(run, value.args[0], depth - 1)
    said = value.args[1] if len(value.args) > 1 else value.keywords.get("dim", value.keywords.get("axis"))
    number = _number(said) if said is not None else None
    if axes is None or number is None or not -len(axes) - 1 <= number <= len(axes):
        return None
    place = number % (len(axes) + 1)
    return (*axes[:place], 1, *axes[place:])


def _reshaped(run: Execution, value: Applied, depth: int) -> Axes | None:
    said = list(value.args[1:])
    if len(said) == 1 and isinstance(said[0], Items):
        said = list(said[0].items)
    if not said:
        return None
    if len(said) == 1 and _is_shape(said[0]):
        return _as_in_shape(run, said[0], depth)
    numbers = [_number(one) for one in said]
    return tuple(None if number == -1 else number for number in numbers)


def _is_shape(said: Value) -> bool:
    """Whether one argument stands for the sizes of all axes: `x.shape`, `x.size()`, or a piece of them."""
    match said:
        case Part(key="shape"):
            return True
        case Applied(callee="[]", args=[inner, key]):
            return _is_shape(inner) and _is_slice(key)
        case Applied(callee=callee, args=[_], keywords=keywords):
            return callee.rpartition(".")[2] == "size" and not keywords
    return False


def _is_slice(key: Value) -> bool:
    is_constant = isinstance(key, Constant) and isinstance(key.value, slice)
    return is_constant or (isinstance(key, Applied) and key.callee == "slice")


def _as_in_shape(run: Execution, said: Value, depth: int) -> Axes | None:
    """The axes of what a whole shape was taken from; nothing is known of pieces."""
    match said:
        case Part(base=inner) | Applied(args=[inner]):
            return axes_of(run, inner, depth - 1)
    return None


def _flattened(run: Execution, value: Applied, depth: int) -> Axes | None:
    name = value.callee.rpartition(".")[2]
    said = value.args[1] if len(value.args) > 1 else value.keywords.get("start_dim")
    if name == "ravel" or said is None:
        return ROW
    return (None, None) if _number(said) == 1 else None


def _gathered(run: Execution, value: Applied, depth: int) -> Axes | None:
    index = value.args[2] if len(value.args) > 2 else value.keywords.get("index")
    if index is None:
        return None
    known = axes_of(run, index, depth - 1)
    if known is None and isinstance(index, Applied) and index.callee.rpartition(".")[2] == "unsqueeze":
        whole = axes_of(run, value.args[0], depth - 1)  # an index has as many axes as what it picks from
        place = _number(index.args[1]) if len(index.args) > 1 else None
        at = _place(whole, value.args[1:2], {})
        if whole is not None and place is not None and at == place % len(whole):
            return (*whole[:at], 1, *whole[at + 1 :])
    return known


def _like(run: Execution, value: Applied, depth: int) -> Axes | None:
    return axes_of(run, value.args[1], depth - 1) if len(value.args) > 1 else None


def _stacked(run: Execution, value: Applied, depth: int) -> Axes | None:
    """`torch.cat` keeps the axes of its parts, but for the size along the one it joins."""
    axes = {axes_of(run, one, depth - 1) for one in getattr(value.args[0], "items", [])}
    first = axes.pop() if len(axes) == 1 else None
    place = _place(first, value.args[1:], value.keywords, 0)
    if first is None or place is None:
        return None
    return (*first[:place], None, *first[place + 1 :])


def _scored(run: Execution, value: Applied, depth: int) -> Axes | None:
    """`Categorical(logits=...).log_prob(a)` has one number for each choice."""
    made = value.args[0]
    if not isinstance(made, Applied) or not made.callee.endswith("Categorical"):
        return None
    given = made.keywords.get("logits", made.keywords.get("probs", made.args[0] if made.args else None))
    axes = axes_of(run, given, depth - 1) if given is not None else None
    return axes[:-1] if axes else None


def _made(value: Applied, name: str) -> Axes | None:
    """`torch.rand(n, 1)`, `torch.linspace(0, 1, n)`."""
    if name in COUNTED:
        return ROW
    if name in {"uniform", "normal", "random"} or "numpy.random.randint" in value.callee:
        said = value.keywords.get("size")
        if said is None:
            return None
        sizes = list(said.items) if isinstance(said, Items) else [said]
    elif name == "randint":
        shape = next((arg for arg in value.args if isinstance(arg, Items)), None)
        return tuple(_number(one) for one in shape.items) if shape is not None else None
    else:
        sizes = list(value.args[:1] if name == "full" else value.args)
        if len(sizes) == 1 and isinstance(sizes[0], Items):
            sizes = list(sizes[0].items)
    if any(map(_is_shape, sizes)):
        return None
    return tuple(_number(one) for one in sizes) if sizes else None


SHAPING: Mapping[str, Callable[[Execution, Applied, int], Axes | None]] = {
    "squeeze": _squeezed,
    "unsqueeze": _unsqueezed,
    "expand_dims": _unsqueezed,
    "view": _reshaped,
    "reshape": _reshaped,
    "flatten": _flattened,
    "ravel": _flattened,
    "gather": _gathered,
    "view_as": _like,
    "reshape_as": _like,
    "expand_as": _like,
    "cat": _stacked,
    "concat": _stacked,
    "log_prob": _scored,
    "entropy": _scored,
}
