"""A function with parameters as a class that keeps them and has one method."""

from __future__ import annotations

import ast
import copy


def rewrite(tree: ast.Module) -> ast.Module:
    """Make a class of each function that loops and is called by its name alone."""
    names = {}
    for index, node in enumerate(tree.body):
        if isinstance(node, ast.FunctionDef) and _can_be_class(tree, node):
            names[node.name] = name = "".join(part.title() for part in node.name.split("_")) + "Job"
            tree.body[index] = _as_class(node, name)
    return _Calls(names).visit(tree)


def _can_be_class(tree: ast.Module, node: ast.FunctionDef) -> bool:
    arguments = node.args
    plain = not (arguments.vararg or arguments.kwarg or arguments.posonlyargs or node.decorator_list)
    loops = any(isinstance(n, ast.For | ast.While) for n in ast.walk(node))
    odd = any(
        isinstance(n, ast.Yield | ast.YieldFrom | ast.Nonlocal | ast.Global | ast.FunctionDef)
        for s in node.body
        for n in ast.walk(s)
    )
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    named = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == node.name]
    return (
        plain
        and loops
        and not odd
        and bool(arguments.args or arguments.kwonlyargs)
        and all(id(n) in called for n in named)
    )


def _as_class(node: ast.FunctionDef, name: str) -> ast.ClassDef:
    parameters = [each.arg for each in (*node.args.args, *node.args.kwonlyargs)]
    arguments = copy.deepcopy(node.args)
    arguments.args.insert(0, ast.arg("self"))
    keep = [
        ast.Assign(
            [ast.Attribute(ast.Name("self", ast.Load()), each, ast.Store())], ast.Name(each, ast.Load())
        )
        for each in parameters
    ]
    begin = ast.FunctionDef("__init__", arguments, keep, [], None, type_params=[])
    body = [_OfSelf(set(parameters)).visit(statement) for statement in node.body]
    only_self = ast.arguments([], [ast.arg("self")], None, [], [], None, [])
    go = ast.FunctionDef("run", only_self, body, [], None, type_params=[])
    return ast.ClassDef(name, [], [], [begin, go], [], type_params=[])


class _OfSelf(ast.NodeTransformer):
    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.names:
            return ast.Attribute(ast.Name("self", ast.Load()), node.id, node.ctx)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        hidden = {each.arg for each in node.args.args} & self.names
        self.names -= hidden
        self.generic_visit(node)
        self.names |= hidden
        return node


class _Calls(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in self.names:
            made = ast.Call(ast.Name(self.names[node.func.id], ast.Load()), node.args, node.keywords)
            return ast.Call(ast.Attribute(made, "run", ast.Load()), [], [])
        return node
