"""Pictures that are mirrored or turned by chance while what is marked in them stays where it was.

`if random() < 0.5: image = image.flip(-1)` in the making of a sample that has a mask, a depth or joints as
well. A class label belongs to the whole picture and needs no move; what says where things are does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.parted_pairs import DRAWS, INPUT_WORDS, PartedPair
from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.values import Site

# fmt: off
MARKED_WORDS = frozenset({
    "mask", "masks", "keypoint", "keypoints", "kpt", "kpts", "joint", "joints", "landmark", "landmarks",
    "box", "boxes", "bbox", "bboxes", "heatmap", "heatmaps", "depth", "disparity", "seg", "segmentation",
    "trimap", "edge", "edges", "contour", "corners", "polygon", "polygons",
})
MIRRORING = frozenset({
    "flip", "fliplr", "flipud", "hflip", "vflip", "mirror", "rot90", "horizontal_flip", "vertical_flip",
})
TURNING = frozenset({
    "rotate", "affine", "warpaffine", "perspective", "warpperspective", "translate", "elastic_transform",
    "affine_transform", "remap",
})
# fmt: on
# What says that a picture is read as a map of places: in one channel, or without mixing neighbours.
ONE_CHANNEL = (
    "IMREAD_ANYDEPTH",
    "IMREAD_UNCHANGED",
    "convert('L')",
    "convert('P')",
    "convert('1')",
    "IMREAD_GRAYSCALE",
    "GRAY",
    "imread(mask",
)
# Masks that say what counts or is hidden, and not where things are.
OTHER_MASKS = frozenset(
    {"attention", "attn", "padding", "pad", "valid", "loss", "token", "tokens", "random", "patch"}
)
PICTURE_WORDS = INPUT_WORDS - {"x", "xs", "data", "features", "feature", "feats", "texts", "sentences"}


@remembered
def moved_alone(index: Index) -> tuple[PartedPair, ...]:
    """Every picture that a sample's maker mirrors at random without the marks that belong to it."""
    handed = _samples(index)
    return tuple(pair for function in index.functions for pair in _in_function(function, handed))


@remembered
def turned_alone(index: Index) -> tuple[PartedPair, ...]:
    """Every picture that is turned or shifted by a drawn amount without the marks that belong to it."""
    return tuple(pair for function in index.functions for pair in _turned_in(function))


def _in_function(function: Function, handed: list[tuple[frozenset[str], Site]]) -> Iterator[PartedPair]:
    for block in own_nodes(function.node, ast.If):
        if not _asks_chance(block.test):
            continue
        for statement in block.body:
            name = _mirrored(statement)
            if name is None:
                continue
            twin = _mirrored_elsewhere(function, block, name)
            if twin is not None:
                yield PartedPair(
                    Site(function.source, statement), Site(function.source, twin[1]), (name, twin[0])
                )
                return
            if not (PICTURE_WORDS.intersection(words(name)) or name in _opened(function)):
                continue
            beside = _beside(function, block, name, handed)
            if beside is not None and not _is_moved(function, block, beside[0]):
                yield PartedPair(Site(function.source, statement), beside[1], (name, beside[0]))
                return


def _mirrored_elsewhere(function: Function, block: ast.If, name: str) -> tuple[str, ast.AST] | None:
    """What is mirrored with a picture in another place of a function, given back with it, and stays here.

    That it has been moved along once says that it has to be.
    """
    inside = {id(node) for node in all_nodes(block)}
    given = {_named(one) for node in own_nodes(function.node, ast.Return) for one in all_nodes(node)}
    touched = {_named(node) for node in all_nodes(block)}
    for statement in own_nodes(function.node, ast.Assign):
        target, value = statement.targets[0], statement.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        moved = {_named(one) for one, by in pairs if _mirrors(by) and _named(one) in map(_named, _loads(by))}
        others = sorted((moved & given) - touched - {name, ""})
        if id(statement) not in inside and name in moved & given and others:
            return others[0], statement
    for other in own_nodes(function.node, ast.If):
        if (
            id(other) in inside
            or any(one is block for one in all_nodes(other))
            or not _asks_chance(other.test)
        ):
            continue
        together = {kept: one for one in other.body if (kept := _mirrored(one)) is not None}
        others = sorted((together.keys() & given) - touched - {name})
        if name in together and name in given and others:
            return others[0], together[others[0]]
    return None


def _turned_in(function: Function) -> Iterator[PartedPair]:
    """Pictures that are turned or shifted by drawn amounts: `image = rotate(image, angle)`."""
    if not any(_last(call.func).lower() in TURNING for call in own_nodes(function.node, ast.Call)):
        return
    drawn = _drawn_names(function)
    opened = _opened(function)
    for statement in own_nodes(function.node, ast.Assign):
        name = _turned(statement, drawn)
        if name is None or not (PICTURE_WORDS.intersection(words(name)) or name in opened):
            continue
        marks = {_named(node) for node in own_nodes(function.node)} - {"", name}
        for mark in sorted(marks):
            is_mark = _is_mark(mark) or opened.get(mark, False)
            if is_mark and _is_of_sample(function, statement, mark) and not _is_changed(function, mark):
                if not _is_given_back(function, drawn):
                    site = Site(function.source, statement)
                    yield PartedPair(site, site, (name, mark))
                return


def _drawn_names(function: Function) -> set[str]:
    """The names of drawn amounts, and of what is made of them: a matrix of a drawn angle."""
    drawn = _drawn_at_once(function)
    for node in sorted(own_nodes(function.node, ast.Assign), key=lambda one: one.lineno):
        names = {one.id for target in node.targets for one in all_nodes(target, ast.Name)}
        read = {one.id for one in all_nodes(node.value, ast.Name)}
        if read & drawn and not names & read:
            drawn |= names
    return drawn


def _drawn_at_once(function: Function) -> set[str]:
    return {
        one.id
        for node in own_nodes(function.node, ast.Assign)
        if _asks_chance(node.value)
        for target in node.targets
        for one in all_nodes(target, ast.Name)
        if one.id not in map(_named, _loads(node.value))  # a picture that is changed by chance is no amount
    }


def _turned(statement: ast.Assign, drawn: set[str]) -> str | None:
    """The name of what a statement turns by a drawn amount and keeps under its name."""
    name = _named(statement.targets[0]) if len(statement.targets) == 1 else ""
    call = statement.value
    if not name or not isinstance(call, ast.Call) or _last(call.func).lower() not in TURNING:
        return None
    used = {one.id for one in all_nodes(call, ast.Name)}
    is_drawn = bool(used & drawn) or _asks_chance(call)
    return name if is_drawn and name in map(_named, _loads(call)) else None


def _opened(function: Function) -> dict[str, bool]:
    """The names that files of pictures are read into, and whether as one channel, as maps of places are."""
    owner = function.owner
    methods = owner.methods.values() if owner is not None else (function,)
    found: dict[str, bool] = {}
    for node in (one for method in methods for one in own_nodes(method.node, ast.Assign)):
        name, text = _named(node.targets[0]), ast.unparse(node.value)
        if name and any(word in text for word in ("Image.open(", "imread(", "read_image(")):
            found[name] = any(word in text for word in ONE_CHANNEL)
    return found


def _is_changed(function: Function, mark: str) -> bool:
    """Whether a function does anything to a mark but hand it on."""
    for change in own_nodes(function.node, ast.AugAssign):
        if mark in map(_named, all_nodes(change.target)):
            return True
    for node in own_nodes(function.node, ast.Assign):
        stored = [_named(one) for target in node.targets for one in all_nodes(target)]
        if mark in stored and mark in map(_named, _loads(node.value)) and _may_move(node.value):
            return True
    handed = (call for call in own_nodes(function.node, ast.Call) if call.args)
    named = ([_named(one) for one in call.args] for call in handed)
    return any(mark in names and len(set(names) - {mark, ""}) > 0 for names in named)


def _may_move(value: ast.expr) -> bool:
    """Whether a change may move what it is made to: a conversion or a resize moves nothing by chance."""
    called = {_last(call.func).lower() for call in all_nodes(value, ast.Call)}
    still = {
        "resize",
        "to_tensor",
        "from_numpy",
        "float",
        "long",
        "totensor",
        "array",
        "asarray",
        "pil_to_tensor",
    }
    return not called or bool(called - still)


def _is_given_back(function: Function, drawn: set[str]) -> bool:
    """Whether the amount itself is what is to be told: the turn is the answer then."""
    given = own_nodes(function.node, ast.Return, ast.Yield)
    return any(one.id in drawn for node in given for one in all_nodes(node, ast.Name))


def _asks_chance(test: ast.expr) -> bool:
    """`random.random() < p`, `torch.rand(()) < p`, alone or behind a switch."""
    calls = all_nodes(test, ast.Call)
    return any((dotted(call.func) or "").rpartition(".")[2] in DRAWS for call in calls)


def _mirrored(statement: ast.stmt) -> str | None:
    """The name of what a statement mirrors and keeps under its name: `sample["image"]` is called image."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    name = _named(target)
    return (
        name if name and _mirrors(statement.value) and name in map(_named, _loads(statement.value)) else None
    )


def _mirrors(value: ast.expr) -> bool:
    for node in all_nodes(value):
        match node:
            case ast.Call(func=called) if _last(called) in MIRRORING:
                return True
            case ast.Slice(step=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
                return True
    return False


def _last(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def _named(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str() as key)):
            return key
    return ""


def _loads(node: ast.AST) -> list[ast.AST]:
    return [one for one in all_nodes(node) if isinstance(one, ast.Name | ast.Subscript)]


def _beside(
    function: Function, block: ast.If, picture: str, handed: list[tuple[frozenset[str], Site]]
) -> tuple[str, Site] | None:
    """A mark that the same sample has: in this function, or in the sample that is handed to it."""
    for node in own_nodes(function.node):
        name = _named(node)
        if name != picture and _is_mark(name) and _is_of_sample(function, block, name):
            return name, Site(function.source, node)
    maps = [name for name, is_map in _opened(function).items() if is_map]
    for name, node in (*_handed_as_marks(function), *((name, function.node) for name in maps)):
        if name != picture and _is_of_sample(function, block, name):
            return name, Site(function.source, node)
    if not any(
        isinstance(node, ast.Subscript) and _named(node) == picture for node in own_nodes(function.node)
    ):
        return None
    made_here = {id(table) for table in own_nodes(function.node, ast.Dict)}  # and judged above by its values
    for keys, site in handed:
        marks = sorted(filter(_is_mark, keys))
        if picture in keys and marks and id(site.node) not in made_here:
            return marks[0], site
    return None


def _handed_as_marks(function: Function) -> Iterator[tuple[str, ast.AST]]:
    """What is given back under the name of a mark: `b` of `{"boxes": torch.from_numpy(b)}`."""
    for table in own_nodes(function.node, ast.Dict):
        for key, value in zip(table.keys, table.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and _is_mark(key.value):
                names = [one.id for one in all_nodes(value, ast.Name) if one.id not in {"torch", "np"}]
                if len(names) == 1:
                    yield names[0], value


def _is_mark(name: str) -> bool:
    said = set(words(name))
    return bool(said & MARKED_WORDS) and not said & OTHER_MASKS


def _is_of_sample(function: Function, block: ast.stmt, name: str) -> bool:
    """Whether a mark is given back with the picture, and was there before that was mirrored.

    A mask that is drawn, or made of the mirrored picture, needs no move.
    """
    given = own_nodes(function.node, ast.Return, ast.Yield, ast.Dict)
    if not any(_named(inner) == name for node in given for inner in all_nodes(node)):
        return False
    made = [
        statement
        for statement in own_nodes(function.node, ast.Assign)
        if any(_named(one) == name for target in statement.targets for one in all_nodes(target))
    ]
    return not any(one.lineno > block.lineno or _asks_chance(one.value) for one in made)


def _is_moved(function: Function, block: ast.If, mark: str) -> bool:
    """Whether anything is done to a mark in the block, or something mirrors it elsewhere."""
    for node in all_nodes(block):
        if mark in (_named(node), getattr(node, "value", None)):
            return True
    for statement in own_nodes(function.node, ast.Assign):
        told = [_named(one) for target in statement.targets for one in all_nodes(target)]
        is_changed = _mirrors(statement.value) or isinstance(statement.value, ast.Call)
        if mark in told and is_changed and any(_named(one) == mark for one in _loads(statement.value)):
            return True
    return False


def _samples(index: Index) -> list[tuple[frozenset[str], Site]]:
    """The tables of a program that have a picture and marks, by their keys: `{"image": ..., "mask": ...}`."""
    found = []
    for module in index.modules.values():
        for node in all_nodes(module.source.tree, ast.Dict):
            keys = frozenset(
                key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
            )
            if any(PICTURE_WORDS.intersection(words(key)) for key in keys):
                found.append((keys, Site(module.source, node)))
    return found
