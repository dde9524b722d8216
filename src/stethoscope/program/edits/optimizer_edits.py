"""Parameters that an optimizer was not given, handed to it as well."""

from __future__ import annotations

import ast

from stethoscope.program.edits.call_edits import name_of_module, replaced
from stethoscope.program.edits.statements import is_name_chain
from stethoscope.program.index import Index
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.values import Instance, Items, Site, Table, span_of
from stethoscope.run import Splice


def given_too(made: Site, network: str) -> Splice | None:
    """An optimizer given the parameters of one more network, by the name that this has there."""
    node, source = made.node, made.source
    if not isinstance(node, ast.Call):
        return None
    given = node.args[0] if node.args else next((w.value for w in node.keywords if w.arg == "params"), None)
    match given:
        case ast.Call(func=ast.Attribute(value=owner, attr="parameters"), args=[], keywords=[]) if (
            is_name_chain(owner)
        ):
            return replaced(source, given, f"[*{ast.unparse(given)}, *{network}.parameters()]")
        case ast.List(elts=[*_, last]):
            span = span_of(source, last)
            more = (
                f'{{"params": {network}.parameters()}}'
                if isinstance(last, ast.Dict)
                else f"*{network}.parameters()"
            )
            is_plain = isinstance(last, ast.Dict | ast.Starred)
            return (
                Splice(source.file, span[1], span[1], f", {more}") if span is not None and is_plain else None
            )
    return None


def owner_of_parts(made: Site, module: Instance) -> str:
    """What a network is called where an optimizer gets parts of it: `net` of `net.body.parameters()`."""
    for node in all_nodes(made.node):
        match node:
            case ast.Attribute(value=ast.Attribute(value=owner, attr=part), attr="parameters") if (
                part in module.attributes and is_name_chain(owner)
            ):
                return ast.unparse(owner)
    return ""


def registered(index: Index, module: Instance, name: str, line: int | None) -> Splice | None:
    """A list or dictionary of layers kept as a module, so that its network knows of them."""
    source = module.cls.source
    nn = name_of_module(index.module_of(source).imports, "torch.nn")
    held = module.attributes.get(name)
    kind = "ModuleList" if isinstance(held, Items) else "ModuleDict" if isinstance(held, Table) else ""
    if not nn or not kind:
        return None
    for node in all_nodes(module.cls.node):
        if (
            isinstance(node, ast.Assign)
            and node.lineno == line
            and ast.unparse(node.targets[0]) == f"self.{name}"
        ):
            text = ast.get_source_segment(source.text, node.value)
            return replaced(source, node.value, f"{nn}.{kind}({text})") if text else None
    return None
