"""Pictures that OpenCV reads as blue, green and red, and of which only some are turned round to red first."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

TURNING = ("BGR2RGB", "[..., ::-1]", "[:, :, ::-1]", "[2, 1, 0]")
PARTS = frozenset({"train", "training", "split", "mode", "phase", "val", "test", "stage"})
# What may turn the channels round, or the picture.
MAY_TURN = ("BGR", "::-1", "2, 1, 0", "flip(", "convert", "channel")
ONE_CHANNEL = ("GRAYSCALE", "UNCHANGED", ", 0)", ", -1)", "ANYDEPTH")


@dataclass(frozen=True, slots=True, eq=False)
class ChannelOrders:
    """Two reads of pictures: one whose channels are turned round, and one whose are not."""

    turned: Site
    left: Site


@remembered
def channel_orders(index: Index) -> tuple[ChannelOrders, ...]:
    """Pairs of data sets, made side by side, that end in different orders of the channels."""
    switched = tuple(found for cls in index.classes for found in _turned_for_one_part(cls))
    if switched:
        return switched[:1]
    reading = [(cls, read) for cls in index.classes for read in _reads(index, cls)]
    turned = [(cls, site) for cls, (site, is_turned) in reading if is_turned]
    left = [(cls, site) for cls, (site, is_turned) in reading if not is_turned]
    return tuple(
        ChannelOrders(there, here)
        for cls, here in left
        for other, there in turned
        if other is not cls and _are_made_together(index, cls, other)
    )[:1]


def _turned_for_one_part(cls: Class) -> Iterator[ChannelOrders]:
    """`if self.train: image = cvtColor(image, COLOR_BGR2RGB)`, and nothing turns the others round."""
    item = cls.methods.get("__getitem__")
    if item is None or is_test(cls.source):
        return
    for block in own_nodes(item.node, ast.If):
        asked = {word for node in all_nodes(block.test, ast.Attribute) for word in words(node.attr)}
        is_plain = isinstance(block.test, ast.Attribute | ast.UnaryOp | ast.Compare)
        turned = [one for one in block.body if any(word in ast.unparse(one) for word in TURNING[:1])]
        if turned and is_plain and asked & PARTS and not block.orelse:
            rest = ast.unparse(item.node).replace(ast.unparse(turned[0]), "", 1)
            if not any(word in rest for word in TURNING):
                yield ChannelOrders(Site(item.source, turned[0]), Site(item.source, block))


def _reads(index: Index, cls: Class) -> Iterator[tuple[Site, bool]]:
    """Where the items of a data set are read by OpenCV, and whether their channels are turned round.

    Where that cannot be told, nothing is given.
    """
    item = cls.methods.get("__getitem__")
    if item is None or is_test(cls.source):
        return
    functions = list(_reached(index, cls, item))
    text = "\n".join(ast.unparse(one.node) for one in functions)
    for function in functions:
        for call in own_nodes(function.node, ast.Call):
            written = ast.unparse(call)
            if written.startswith("cv2.imread(") and not any(word in written for word in ONE_CHANNEL):
                is_turned = any(word in text for word in TURNING)
                if is_turned or not any(word in text for word in MAY_TURN):
                    yield Site(function.source, call), is_turned
                return


def _reached(index: Index, cls: Class, item: Function) -> Iterator[Function]:
    """What makes an item: the methods and the functions of the program that it calls, two calls deep."""
    waiting, seen = [(item, 2)], set[str]()
    while waiting:
        function, left = waiting.pop()
        if function.qualified in seen:
            continue
        seen.add(function.qualified)
        yield function
        for call in own_nodes(function.node, ast.Call) if left else ():
            own = cls.methods.get(bare_name(call))
            named = index.functions_named(bare_name(call))
            found = own or (named[0] if len(named) == 1 else None)
            if found is not None:
                waiting.append((found, left - 1))


def _are_made_together(index: Index, one: Class, other: Class) -> bool:
    for function in index.bodies:
        made = {bare_name(call) for call in own_nodes(function.node, ast.Call)}
        if {one.name, other.name} <= made:
            return True
    return any(
        {one.name, other.name} <= {bare_name(call) for call in all_nodes(module.source.tree, ast.Call)}
        for module in index.modules.values()
    )
