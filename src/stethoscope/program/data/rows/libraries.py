"""What libraries do to rows: what counts them, draws them, deals them out and measures them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from stethoscope.program.data.rows.dealing import cut, shuffled, taken, united
from stethoscope.program.data.rows.tables import (
    COUNT,
    SHARE,
    Each,
    Numbers,
    Rows,
    Statistic,
    Thing,
    longest,
    numbered,
    statistics_in,
    table,
)
from stethoscope.program.walk.values import Site

NOT_KNOWN: Any = object()  # nothing is known of a call
KEEPING = frozenset({
    "astype", "to_numpy", "values", "copy", "fillna", "float", "to", "numpy", "reset_index", "clip",
    "tolist", "long", "int", "bool", "double", "cpu", "cuda", "clone", "contiguous", "detach", "dropna",
    "ravel", "flatten", "reshape", "view", "unsqueeze", "squeeze", "drop_duplicates", "ffill", "bfill",
    "rename", "assign", "toarray", "todense", "round", "abs", "with_format", "map",
})  # fmt: skip
MEASURING = frozenset({
    "mean", "std", "var", "min", "max", "median", "quantile", "nanmean", "nanstd", "percentile", "amin",
    "amax", "nanmin", "nanmax",
})  # fmt: skip
SAME = frozenset({
    "array", "asarray", "tensor", "from_numpy", "as_tensor", "FloatTensor", "LongTensor", "DataFrame",
    "deepcopy", "copy", "list", "tuple", "log", "log1p", "nan_to_num", "float32", "float64",
    "ascontiguousarray", "hstack", "column_stack", "tqdm", "squeeze", "atleast_2d",
})  # fmt: skip
SCALERS = ("Scaler", "PowerTransformer", "QuantileTransformer", "PCA", "Imputer")
# What a camera or a microscope took: its range is a unit, and tells nothing of one part to the other.
PICTURES = frozenset({"imread", "volread", "mimread", "imreadmulti"})
HOLDING = ("Dataset", "DataLoader", "Subset", "DMatrix")


def library(
    name: str, args: Sequence[Any], named: Mapping[str, Any], site: Site, other: Any = NOT_KNOWN
) -> Any:
    """What a function of a library gives back."""
    last = name.rpartition(".")[2]
    first = args[0] if args else next(iter(named.values()), None)
    text = " ".join(site.text.split())
    if last in FUNCTIONS and args:
        return FUNCTIONS[last](args, named, text)
    if last.endswith(SCALERS):
        return Thing(last)
    if last in PICTURES:
        return table((PICTURES, text))
    rows = next((one for one in (*args, *named.values()) if isinstance(one, Rows)), None)
    if last == "Subset" and len(args) == 2:
        return taken(args[0], args[1])
    if last.endswith(HOLDING) and rows is not None:
        return rows
    if rows is None and name and (measured := next(statistics_in([*args]), None)) is not None:
        return measured
    if "." not in name:
        return other
    if last in MEASURING and isinstance(first, Rows) and name.split(".")[0] in {"np", "numpy", "torch"}:
        return _measured(first, args[1:], named, site)
    return other


def method(holder: Any, name: str, args: Sequence[Any], named: Mapping[str, Any], site: Site) -> Any:
    """What a method of a table, of numbers or of a scaler gives back."""
    if isinstance(holder, Thing):
        return _asked(holder, name, args, site)
    text = " ".join(site.text.split())
    if isinstance(holder, dict) and name in {"items", "values", "keys"}:
        return {"items": [[k, v] for k, v in holder.items()], "values": [*holder.values()]}.get(
            name, [*holder]
        )
    if isinstance(holder, Statistic):
        return holder
    if name in KEEPING and isinstance(holder, Rows | Numbers):
        return holder
    if isinstance(holder, Rows) and name in MEASURING:
        return _measured(holder, args, named, site)
    if isinstance(holder, Rows) and name in {"sort_values", "sort_index", "sort"}:
        return table((holder.origin, "sorted", text)) if holder.is_whole else table(object())
    if name in {"size", "__len__"} and isinstance(holder, Rows):
        return len(holder.places) if args or named else [len(holder.places), table(object())]
    if name == "nonzero" and isinstance(holder, Numbers):
        found = Numbers(np.flatnonzero(holder.places), holder.guessed)
        return [found] if named else found
    if name in {"permutation", "shuffle"} and args and isinstance(holder, Rows):
        return _drawn(args, named, text)
    if isinstance(holder, Rows) and name in OF_TABLES:
        return OF_TABLES[name](holder, args, named, text)
    return table(object())


def _measured(rows: Rows, args: Sequence[Any], named: Mapping[str, Any], site: Site) -> Any:
    """A statistic over rows; one of each row by itself, or of a picture, is as good as the row."""
    if isinstance(rows.origin, tuple) and rows.origin[0] is PICTURES:
        return rows
    axis = named.get("axis", named.get("dim", args[0] if args else None))
    along = axis[0] if isinstance(axis, list) and axis else axis
    return (
        Statistic(rows.origin, rows.places, site) if along in (None, 0) or isinstance(along, float) else rows
    )


def _asked(tool: Thing, name: str, args: Sequence[Any], site: Site) -> Any:
    rows = args[0] if args and isinstance(args[0], Rows) else None
    if rows is None or not isinstance(tool.cls, str):
        return table(object())
    if name in {"fit", "fit_transform"}:
        tool.fitted = Statistic(rows.origin, rows.places, site)
    if name == "fit":
        return tool
    return rows.by([tool.fitted]) if tool.fitted is not None else rows


def _length(args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    known = args[0].places if isinstance(args[0], Rows | Numbers) else args[0]
    return len(known) if isinstance(known, list | tuple | dict | np.ndarray) else table(object())


def _whole_number(args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    return int(args[0]) if type(args[0]) in {int, float} else args[0]


def _range(args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    if isinstance(args[0], Rows):
        return table(object())
    ends = [COUNT if isinstance(one, Rows) else one for one in args]
    if not all(type(one) in {int, float} for one in ends) or (len(ends) > 2 and not int(ends[2])):
        return table(object())
    found = range(*map(int, ends[:3]))
    return Numbers(np.asarray(found)) if 0 < len(found) <= longest() else table(object())


def _drawn(args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    """`randperm(n)`, `permutation(order)`."""
    whole = _range(args[:1], {}, text) if type(args[0]) in {int, float} else args[0]
    # One seed draws one order: the number it is drawn for says which.
    return shuffled(whole, "drawn")


def _mask(args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    size = args[0][0] if isinstance(args[0], list) and len(args[0]) == 1 else args[0]
    if "like" in text.partition("(")[0] and isinstance(size, Rows | Numbers):
        size = len(size.places)
    if type(size) is not int or not 0 < size <= longest() or "bool" not in text:
        return table(object())
    return Numbers(np.full(size, "ones" in text.partition("(")[0]))


def _where(args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    if len(args) == 1 and isinstance(args[0], Numbers):
        return [Numbers(np.flatnonzero(args[0].places), args[0].guessed)]
    return next(statistics_in([*args]), table(object()))


def _numbers_of(args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    if isinstance(args[0], Numbers):
        return Numbers(np.flatnonzero(args[0].places), args[0].guessed)
    return table(object())


def _enumerated(args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    if isinstance(args[0], list):
        return [[place, one] for place, one in enumerate(args[0])]
    return Each([table(object()), _element(args[0])])


def _zipped(args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    if all(isinstance(one, list) for one in args):
        return [list(row) for row in zip(*args, strict=False)]
    return Each([_element(one) for one in args])


def _element(held: Any) -> Any:
    """One of many things, none of which is known."""
    if isinstance(held, Each):
        return held.element
    return table(("element", held.origin)) if isinstance(held, Rows) else table(object())


def _without(args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    return united(ast.Sub(), args[0], args[1]) if len(args) > 1 else table(object())


def _same(args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    first = args[0]
    return first if isinstance(first, Rows | Numbers | Statistic | list | range) else table(object())


def _dealt(args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    """`train_test_split(x, y)`: two parts of each."""
    found: list[Any] = []
    is_kept = named.get("shuffle") is False
    for one in args:
        known = one if isinstance(one, Rows) else numbered(one)
        whole = known if is_kept or known is None else shuffled(known, "drawn")
        share = int(0.25 * len(whole.places)) if whole is not None else 0
        cuts = (slice(None, -share), slice(-share, None))
        found.extend(cut(whole, (part.start, part.stop, None)) if share else table(object()) for part in cuts)
    return found


def _split(args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    """`random_split(rows, lengths)`."""
    rows = shuffled(args[0], "drawn") if isinstance(args[0], Rows) else None
    lengths = args[1] if len(args) > 1 else named.get("lengths")
    if rows is None or not isinstance(lengths, list):
        return table(object())
    if not all(type(one) in {int, float} for one in lengths):
        return [table(object()) for _ in lengths]
    counts = [int(one * len(rows.places)) if one < 1 else int(one) for one in lengths]
    edges = [0, *(int(one) for one in np.cumsum(counts))]
    return [cut(rows, (low, high, None)) for low, high in pairwise(edges)]


Dealing = Callable[[Sequence[Any], Mapping[str, Any], str], Any]
FUNCTIONS: Mapping[str, Dealing] = {
    "len": _length,
    "int": _whole_number,
    "round": _whole_number,
    "floor": _whole_number,
    "ceil": _whole_number,
    "range": _range,
    "arange": _range,
    "randperm": _drawn,
    "permutation": _drawn,
    "zeros": _mask,
    "ones": _mask,
    "zeros_like": _mask,
    "ones_like": _mask,
    "full_like": _mask,
    "where": _where,
    "enumerate": _enumerated,
    "zip": _zipped,
    "flatnonzero": _numbers_of,
    "setdiff1d": _without,
    "set": _same,
    "sorted": _same,
    "train_test_split": _dealt,
    "random_split": _split,
    **dict.fromkeys(SAME, _same),
}


def _sampled(rows: Rows, args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    order = shuffled(rows, text)
    share = named.get("frac")
    if share == 1:
        return order
    return cut(order, (None, int((share if isinstance(share, float) else SHARE) * len(rows.places)), None))


def _dropped(rows: Rows, args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    """`table.drop(part.index)`; columns are no rows."""
    gone = args[0] if args else named.get("index")
    if not isinstance(gone, Numbers):
        return rows
    return rows.chosen(np.flatnonzero(~np.isin(rows.places, gone.places)), gone.guessed)


def _first(rows: Rows, args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    return cut(rows, (None, args[0] if args else 5, None))


def _last(rows: Rows, args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    return cut(rows, (-args[0] if args and type(args[0]) is int else -5, None, None))


def _selected(rows: Rows, args: Sequence[Any], named: Mapping[str, Any], text: str) -> Any:
    return taken(rows, args[0]) if args else table(object())


OF_TABLES: Mapping[str, Callable[[Rows, Sequence[Any], Mapping[str, Any], str], Any]] = {
    "sample": _sampled,
    "drop": _dropped,
    "head": _first,
    "tail": _last,
    "select": _selected,
    "take": _selected,
}
