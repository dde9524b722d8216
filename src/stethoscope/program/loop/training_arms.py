"""Which parts of a network run in evaluation only, by the mode that it asks itself for."""

from __future__ import annotations

import ast

from stethoscope.program.syntax import all_nodes, blocks

LEAVING = (ast.Return, ast.Raise)


def runs_only_in_evaluation(network: ast.ClassDef, part: str) -> bool:
    """Whether a network calls a part of it, and only where `self.training` is false."""
    runs = [call for call in all_nodes(network, ast.Call) if ast.unparse(call.func) == f"self.{part}"]
    return bool(runs) and all(_is_for_evaluation(network, run) for run in runs)


def _is_for_evaluation(around: ast.AST, node: ast.AST) -> bool:
    """Whether a node is in the arm of `if self.training` for evaluation, or behind `...: return`."""
    for block in blocks(around):
        for place, statement in enumerate(block):
            if any(inner is node for inner in all_nodes(statement)):
                is_behind = any(map(_leaves_in_training, block[:place]))
                return is_behind or _is_other_arm(around, block) or _is_for_evaluation(statement, node)
    return False


def _is_other_arm(condition: ast.AST, block: list[ast.AST]) -> bool:
    if not isinstance(condition, ast.If):
        return False
    asked = _asked_mode(condition.test)
    return asked is not None and asked is not (block is condition.body)


def _leaves_in_training(statement: ast.AST) -> bool:
    if not isinstance(statement, ast.If) or _asked_mode(statement.test) is not True:
        return False
    return isinstance(statement.body[-1], LEAVING)


def _asked_mode(test: ast.expr) -> bool | None:
    """True for `self.training`, False for `not self.training`, None for any other question."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        asked = _asked_mode(test.operand)
        return None if asked is None else not asked
    return True if ast.unparse(test) == "self.training" else None
