"""Sums of an evaluation that go on from where the call before left them.

def validate(net, loader, sums={}):          seen = right = 0
    total, count = sums.get("val", (0, 0))   def validate(net, loader):
    for x, y in loader:                          global seen, right
        total += ...                             for x, y in loader:
    sums["val"] = total, count                       right += ...

The default on the left is made once, with the function, and the names on the right belong to the file. So do
the attributes of an object that only its making sets to zero, and lists that hooks of a framework fill.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.evaluation_entries import evaluates
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.syntax import FunctionNode, all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

MAKING = frozenset({"dict", "list", "defaultdict", "Counter", "OrderedDict", "zeros"})
STORING = frozenset({"update", "append", "extend", "setdefault"})


FILLING = frozenset({"validation_step", "test_step", "on_validation_batch_end", "on_test_batch_end"})
ENDING = frozenset({"on_validation_epoch_end", "on_test_epoch_end", "validation_epoch_end", "test_epoch_end"})


@dataclass(frozen=True, slots=True, eq=False)
class KeptSum:
    """A sum, the statement that makes it grow, and where it is divided."""

    source: Source
    name: str
    grows: ast.AST
    divided: ast.AST
    kept_in: str


def kept_sums(index: Index) -> Iterator[KeptSum]:
    """Every sum of an evaluation that no call begins anew."""
    for function in index.bodies:
        node = function.node
        if not isinstance(node, FunctionNode) or is_test(function.source) or not evaluates(function):
            continue
        grown = [one for loop in own_nodes(node, ast.For) for one in _grown(loop)]
        for name in _kept_defaults(node):
            yield from _of_default(function, name, grown)
        for name in _shared_names(index, function):
            for one in grown:
                if ast.unparse(one.target) == name:
                    yield from _divided(function, name, one, f"`{name}` of the file")
        for one in grown:
            if _is_set_once(index, function, one.target):
                yield from _divided(function, ast.unparse(one.target), one, "the object, which is made once")
    for cls in index.classes:
        if not is_test(cls.source):
            yield from _kept_lists(index, cls)


def _kept_lists(index: Index, cls: Class) -> Iterator[KeptSum]:
    """The lists that the steps of a framework's evaluation fill, its end reads, and nothing empties."""
    filled = {
        ast.unparse(call.func.value): call
        for name in FILLING & cls.methods.keys()
        for call in own_nodes(cls.methods[name].node, ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr in {"append", "extend"}
    }
    for name, call in filled.items():
        if not name.startswith("self.") or _is_emptied(index, cls, name):
            continue
        for end in ENDING & cls.methods.keys():
            read = [one for one in own_nodes(cls.methods[end].node, ast.Call) if _takes_whole(one, name)]
            if read:
                yield KeptSum(cls.source, name, call, read[0], "the object, which nothing empties")
                break


def _is_emptied(index: Index, cls: Class, name: str) -> bool:
    """Whether a method other than the making gives an attribute another value or takes things out of it.

    What is handed to something else as it is may be emptied there.
    """
    for method in (one for kind in index.lineage(cls) for one in kind.methods.values()):
        for node in own_nodes(method.node):
            match node:
                case ast.Attribute(ctx=ast.Store() | ast.Del()) if method.name != "__init__":
                    if ast.unparse(node) == name:
                        return True
                case ast.Subscript(value=held, ctx=ast.Store() | ast.Del()) if ast.unparse(held) == name:
                    return True
                case ast.Call(func=ast.Attribute(value=held, attr="clear" | "pop" | "popleft" | "remove")):
                    if ast.unparse(held) == name:
                        return True
    last = name.rpartition(".")[2]
    return any(f"{last}.clear" in module.source.text for module in index.modules.values())


def _takes_whole(call: ast.Call, name: str) -> bool:
    """`torch.cat(self.outputs)`, `torch.cat([e for e, _ in self.outputs])`: all of a list at once."""
    if bare_name(call) not in {"cat", "stack", "concatenate", "concat", "mean", "vstack", "hstack"}:
        return False
    rounds = [one.generators for one in all_nodes(call, ast.ListComp)]
    rounds += [one.generators for one in all_nodes(call, ast.GeneratorExp)]
    over = [generator.iter for generators in rounds for generator in generators]
    return any(ast.unparse(one) == name for one in (*call.args, *over))


def _grown(loop: ast.For) -> Iterator[ast.AugAssign]:
    """What each round of a loop adds to, by more than one."""
    for one in all_nodes(loop, ast.AugAssign):
        if isinstance(one.op, ast.Add) and not isinstance(one.value, ast.Constant):
            yield one


def _kept_defaults(node: FunctionNode) -> Iterator[str]:
    """The parameters whose default is a table or a list that the function writes into."""
    told = node.args
    plain = [*told.posonlyargs, *told.args]
    pairs = [
        *zip(plain[len(plain) - len(told.defaults) :], told.defaults, strict=True),
        *zip(told.kwonlyargs, told.kw_defaults, strict=True),
    ]
    for parameter, default in pairs:
        is_made = isinstance(default, ast.Dict | ast.List | ast.DictComp) or (
            isinstance(default, ast.Call) and bare_name(default) in MAKING
        )
        if is_made and not _is_given_anew(node, parameter.arg) and _is_written(node, parameter.arg):
            yield parameter.arg


def _is_given_anew(node: FunctionNode, name: str) -> bool:
    """Whether the function empties it, or puts another in its place."""
    for one in own_nodes(node):
        match one:
            case ast.Name(id=found, ctx=ast.Store()) if found == name:
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr="clear")) if found == name:
                return True
    return False


def _is_written(node: FunctionNode, name: str) -> bool:
    for one in own_nodes(node):
        match one:
            case ast.Subscript(value=ast.Name(id=found), ctx=ast.Store()) if found == name:
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr=attr)) if found == name:
                if attr in STORING:
                    return True
    return False


def _of_default(function: Function, kept: str, grown: list[ast.AugAssign]) -> Iterator[KeptSum]:
    """The sums that begin with what a default holds and go back into it, or that lie in it."""
    node = function.node
    begun = {
        name.id
        for one in own_nodes(node, ast.Assign)
        if _mentions(one.value, kept)
        for target in one.targets
        for name in all_nodes(target, ast.Name)
        if isinstance(name.ctx, ast.Store)
    }
    back = {
        name.id
        for one in own_nodes(node, ast.Assign)
        if any(isinstance(target, ast.Subscript) and _mentions(target.value, kept) for target in one.targets)
        for name in all_nodes(one.value, ast.Name)
    }
    where = f"the default of `{kept}`, which is made once"
    for one in grown:
        name = ast.unparse(one.target)
        lies_there = isinstance(one.target, ast.Subscript) and _mentions(one.target.value, kept)
        if name in begun & back or lies_there:
            yield from _divided(function, name, one, where)


def _divided(function: Function, name: str, grows: ast.AugAssign, where: str) -> Iterator[KeptSum]:
    for one in own_nodes(function.node, ast.BinOp):
        if isinstance(one.op, ast.Div) and any(
            ast.unparse(part) == name for part in all_nodes(one.left) if isinstance(part, ast.expr)
        ):
            yield KeptSum(function.source, name, grows, one, where)
            return


def _mentions(node: ast.AST, name: str) -> bool:
    return any(one.id == name for one in all_nodes(node, ast.Name))


def _shared_names(index: Index, function: Function) -> Iterator[str]:
    """The names of the file that a function says it shares and that are set to a number once, at the top."""
    shared = {name for one in own_nodes(function.node, ast.Global) for name in one.names}
    if not shared:
        return
    tree = function.source.tree
    stored = [one for one in all_nodes(tree, ast.Name) if isinstance(one.ctx, ast.Store) and one.id in shared]
    growing = {id(one.target) for one in all_nodes(tree, ast.AugAssign)}
    top = {id(one) for statement in getattr(tree, "body", ()) for one in _targets(statement)}
    for name in sorted(shared):
        set_at = [one for one in stored if one.id == name and id(one) not in growing]
        if len(set_at) == 1 and id(set_at[0]) in top:
            yield name


def _is_set_once(index: Index, function: Function, target: ast.expr) -> bool:
    """Whether an attribute of the object is set to a number where it is made, and by nothing else anywhere.

    What other methods read may be a score over all that was ever measured, and is left alone.
    """
    owner = function.owner
    if owner is None or not isinstance(target, ast.Attribute) or ast.unparse(target.value) != "self":
        return False
    spoken = [
        (method, node)
        for cls in index.lineage(owner)
        for method in cls.methods.values()
        for node in own_nodes(method.node, ast.Attribute)
        if node.attr == target.attr
    ]
    homes = {method.name for method, _ in spoken}
    elsewhere = any(
        isinstance(node.ctx, ast.Store) and node.attr == target.attr and ast.unparse(node.value) != "self"
        for module in index.modules.values()
        for node in all_nodes(module.source.tree, ast.Attribute)
    )
    return homes == {"__init__", function.name} and not elsewhere and not _is_stored_anew(function, target)


def _is_stored_anew(function: Function, target: ast.Attribute) -> bool:
    given = (one for node in own_nodes(function.node, ast.Assign) for one in node.targets)
    return any(ast.unparse(part) == ast.unparse(target) for one in given for part in all_nodes(one))


def _targets(statement: ast.stmt) -> Iterator[ast.AST]:
    """The names that a statement of the file itself sets, outside its loops."""
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            yield from all_nodes(target)
