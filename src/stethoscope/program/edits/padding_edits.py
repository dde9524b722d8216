"""Pads taken out of a loss: told to the loss, or marked in the labels as what no loss counts."""

from __future__ import annotations

import ast

from stethoscope.program.edits.call_edits import replaced, with_keyword
from stethoscope.program.edits.statements import blocks_around, cut, is_constant, is_inline, put_after
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.values import Site
from stethoscope.run import Source, Splice

IGNORED = "-100"  # what cross entropy leaves out by itself, and the models of transformers with it
LOSSES = frozenset({"cross_entropy", "nll_loss", "CrossEntropyLoss", "NLLLoss"})


def ignored_by_loss(made: Site, loss: Site) -> tuple[Splice, ...]:
    """The loss told the number of the pads, where it has a name of its own that says so."""
    pad = filled_with(made.node)
    if not isinstance(pad, ast.Name) or "pad" not in words(pad.id) or not is_constant(loss.source, pad.id):
        return ()
    told = _told(loss, pad.id) if made.source is loss.source else None
    return (told,) if told is not None else ()


def marked_in_labels(made: Site) -> tuple[Splice, ...]:
    """The labels of a language model without its pads: marked where they are made."""
    source = made.source
    pad = filled_with(made.node)
    around = blocks_around(source, made.node)
    statement = around[0][0][around[0][1]]
    if pad is not None:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        is_label = len(targets) == 1 and bool({"label", "labels"} & set(words(ast.unparse(targets[0]))))
        splice = replaced(source, pad, IGNORED) if is_label else None
        return (splice,) if splice is not None else ()
    for one in around[0][0][around[0][1] :]:
        copied = _copied_ids(one)
        if copied is not None and isinstance(one, ast.Assign) and not is_inline(source, one):
            held, way = copied
            return _marked(source, one, held, way)
    return ()


def kept_to_be_ignored(made: Site, loss: Site) -> tuple[Splice, ...]:
    """What makes a mark a class taken away, and the loss told of the mark: `label[label == VOID] = 0`."""
    source, node = made.source, made.node
    around = blocks_around(source, node)
    block, position = around[0]
    asked = node.slice if isinstance(node, ast.Subscript) else None
    if not isinstance(asked, ast.Compare) or not isinstance(asked.ops[0], ast.Eq):
        return ()
    mark = asked.comparators[0]
    is_known = isinstance(mark, ast.Constant) or is_constant(loss.source, ast.unparse(mark))
    taken = cut(source, block, position)
    told = _told(loss, ast.unparse(mark)) if is_known and loss.source is source else None
    return (taken, told) if taken is not None and told is not None else ()


def filled_with(made: ast.AST) -> ast.expr | None:
    """The number that something is filled up with, as written."""
    match made:
        case (
            ast.BinOp(op=ast.Mult(), left=ast.List(elts=[pad]))
            | ast.BinOp(op=ast.Mult(), right=ast.List(elts=[pad]))
        ):
            return pad
        case ast.Call(args=args, keywords=keywords) if _last(made) in {
            "pad_sequence",
            "pad",
            "full",
            "new_full",
        }:
            named = [word.value for word in keywords if word.arg in {"padding_value", "value", "fill_value"}]
            if named:
                return named[0]
            place = {"pad_sequence": 2, "pad": 3, "full": 1, "new_full": 1}[_last(made)]
            return args[place] if len(args) > place else None
    return None


def _told(loss: Site, mark: str) -> Splice | None:
    """A loss told what to ignore: in its own call, or where the object was made."""
    node, source = loss.node, loss.source
    if not isinstance(node, ast.Call):
        return None
    if _last(node) not in LOSSES:
        made = [
            one.value
            for one in all_nodes(source.tree, ast.Assign)
            if ast.unparse(one.targets[0]) == ast.unparse(node.func)
        ]
        if len(made) != 1 or not isinstance(made[0], ast.Call):
            return None
        node = made[0]
    told = {word.arg: getattr(word.value, "value", None) for word in node.keywords}
    if _last(node) not in LOSSES or "ignore_index" in told or told.get("reduction") in {"none", "sum"}:
        return None  # what is averaged later would count the pads all the same
    return with_keyword(source, node, "ignore_index", mark)


def _copied_ids(statement: ast.stmt) -> tuple[str, str] | None:
    """`encoded["labels"] = encoded["input_ids"].clone()`: the encoding, and the way it is copied."""
    match statement:
        case ast.Assign(
            targets=[ast.Subscript(value=ast.Name(id=held), slice=ast.Constant(value="labels"))],
            value=ast.Call(
                func=ast.Attribute(
                    value=ast.Subscript(value=ast.Name(id=same), slice=ast.Constant(value="input_ids")),
                    attr=way,
                )
            ),
        ) if held == same:
            return held, way
    return None


def _marked(source: Source, labels: ast.Assign, held: str, way: str) -> tuple[Splice, ...]:
    if way == "clone":
        text = f'{held}["labels"][{held}["attention_mask"] == 0] = {IGNORED}'
        return (put_after(source, labels, text),)
    pairs = f'zip({held}["input_ids"], {held}["attention_mask"])'
    splice = replaced(source, labels.value, f"[token if seen else {IGNORED} for token, seen in {pairs}]")
    return (splice,) if way == "copy" and splice is not None else ()


def _last(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
