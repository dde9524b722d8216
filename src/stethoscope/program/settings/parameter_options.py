"""Options that are the parameters of a function: of click, typer, fire, and of modules of Lightning."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import Class, External, Function, dotted
from stethoscope.program.settings.mentions import Mentions, text_of
from stethoscope.program.settings.option import Option, literal

# Libraries that make a command of a function. What their decorators are called is the same in all of them.
_CLICK = ("click", "rich_click", "asyncclick", "cloup", "typer_cloup")
_DECLARE = frozenset({"option", "argument"})
# Calls that make a command of the function they are given, parameter by parameter.
_COMMANDS = frozenset(
    {"typer.run", "fire.Fire", "tyro.cli", "jsonargparse.CLI", "jsonargparse.auto_cli", "defopt.run"}
)


def parameter_options(code: Mentions) -> Iterator[Option]:
    """Every option that is a parameter."""
    for function in code.index.functions:
        if function.node.decorator_list:
            yield from _of_click(function, code)
    for function in (*_commands(code), *saved_parameters(code)):
        yield from _of_signature(function, code)


def saved_parameters(code: Mentions) -> Iterator[Function]:
    """The constructors whose parameters Lightning keeps as settings: `self.save_hyperparameters()`."""
    for spot in code.calls.get("save_hyperparameters", ()):
        cls, scope = code.class_around(spot.node), code.scope_of(spot.node)
        function = code.index.method(cls, "__init__") if cls is not None else None
        if function is not None and function.node is scope:
            yield function


def _of_click(function: Function, code: Mentions) -> Iterator[Option]:
    """`@click.option("--grad-clip", default=1.0)` above a function."""
    for decorator in function.node.decorator_list:
        if not isinstance(decorator, ast.Call):
            continue
        library, _, name = _full_name(decorator.func, function, code).rpartition(".")
        if name not in _DECLARE or library.partition(".")[0] not in _CLICK:
            continue
        target = _parameter(decorator)
        if target not in function.parameters:  # it is in **kwargs, or somewhere else
            continue
        given = {keyword.arg: keyword.value for keyword in decorator.keywords}
        default = literal(given.get("default"))
        if literal(given.get("is_flag")) and "default" not in given:
            default = False
        yield Option(
            target, function.source.where(decorator), "parameter", default, origin=function.qualified
        )


def _parameter(declaration: ast.Call) -> str:
    """The parameter that click fills: a name without dashes if there is one, else the longest flag."""
    texts = [text for arg in declaration.args if (text := text_of(arg)) is not None]
    plain = next((text for text in texts if text.isidentifier()), None)
    if plain is not None:
        return plain
    flags = [text.partition("/")[0].strip() for text in texts]
    longest = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
    return longest.lstrip("-").replace("-", "_").lower()


def _commands(code: Mentions) -> Iterator[Function]:
    """The functions that typer and its likes make commands of."""
    for function in code.index.functions:
        for decorator in function.node.decorator_list:
            call = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(call, ast.Attribute) and call.attr in {"command", "callback"}:
                name = (dotted(call.value) or "").rpartition(".")[2]
                made = [spot.node for spot in code.given.get(name, ()) if spot.source is function.source]
                if any(isinstance(node, ast.Call) and _is_typer(node.func) for node in made):
                    yield function
    for name in sorted({full.rpartition(".")[2] for full in _COMMANDS}):
        for spot in code.calls.get(name, ()):
            assert isinstance(spot.node, ast.Call)
            module = code.index.module_of(spot.source)
            called = code.index.resolve(module, dotted(spot.node.func) or "")
            if isinstance(called, External) and called.name in _COMMANDS and spot.node.args:
                target = code.index.resolve(module, dotted(spot.node.args[0]) or "")
                if isinstance(target, Function):
                    yield target


def _is_typer(func: ast.expr) -> bool:
    return (dotted(func) or "").rpartition(".")[2] == "Typer"


def _of_signature(function: Function, code: Mentions) -> Iterator[Option]:
    """One option for each parameter but a context and what is a class of options itself."""
    spec = function.node.args
    plain = [*spec.posonlyargs, *spec.args]
    defaults = [None] * (len(plain) - len(spec.defaults)) + list(spec.defaults)
    pairs = [*zip(plain, defaults, strict=True), *zip(spec.kwonlyargs, spec.kw_defaults, strict=True)]
    home = code.index.module_of(function.source)
    if function.owner is not None:
        pairs = pairs[1:]  # self
    for parameter, default in pairs:
        annotation = dotted(parameter.annotation) or "" if parameter.annotation is not None else ""
        if annotation.endswith("Context") or isinstance(code.index.resolve(home, annotation), Class):
            continue
        if isinstance(default, ast.Call):  # lr: float = typer.Option(1e-3)
            default = default.args[0] if default.args else None
        yield Option(
            parameter.arg,
            function.source.where(parameter),
            "parameter",
            literal(default),
            origin=function.qualified,
        )


def _full_name(node: ast.expr, function: Function, code: Mentions) -> str:
    name = dotted(node) or ""
    target = code.index.resolve(code.index.module_of(function.source), name)
    return target.name if isinstance(target, External) else name
