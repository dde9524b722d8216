"""Weights of a loss that are looked up by a name that is not there, and so are zero.

`weights.get("spectrum", 0.0)` gives zero where the settings still call it `spectral`. A name that is not
among the weights may be left out on purpose; one of the weights that nothing in the program asks for says
that it is not.
"""

from __future__ import annotations

import ast

from stethoscope.program.index import Index
from stethoscope.program.objective.declared_numbers import number
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Site, Value


def misnamed_weight(run: Execution, term: Value) -> Site | None:
    """Where a term is multiplied with the zero that stands for a weight of another name."""
    if not (isinstance(term, Applied) and term.callee in {"*", ".mul"} and len(term.args) == 2):
        return None
    for scale in term.args:
        found = run.defaulted.get(id(scale))
        if found is None or number(scale) != 0:
            continue
        if any(isinstance(key, str) and _is_idle(run.index, key) for key in found.there):
            return term.site
    return None


def _is_idle(index: Index, key: str) -> bool:
    """Whether a program says a name nowhere but where a table is written."""
    return key not in _said(index)


@remembered
def _said(index: Index) -> frozenset[str]:
    """The texts and attributes of a program, less the keys that stand before a number in a table."""
    found: set[str] = set()
    for module in index.modules.values():
        tables = all_nodes(module.source.tree, ast.Dict)
        declared = {
            id(key)
            for table in tables
            for key, value in zip(table.keys, table.values, strict=True)
            if isinstance(value, ast.Constant)
        }
        for node in all_nodes(module.source.tree):
            match node:
                case ast.Constant(value=str() as text) if id(node) not in declared:
                    found.add(text)
                case ast.Attribute(attr=name):
                    found.add(name)
                case ast.keyword(arg=str() as name) if not isinstance(node.value, ast.Constant):
                    found.add(name)
    return frozenset(found)
