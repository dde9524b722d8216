"""The attributes of objects of the repository's classes.

An attribute is what __init__ or a later assignment gave; else what the class has, a property followed; else
what a method that frameworks call to set the object up gives it.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from stethoscope.program.index import Class, Function, dotted
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk import field_defaults
from stethoscope.program.walk.filled_tables import fill_of_class
from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.learning_classes import learns
from stethoscope.program.walk.parameter_values import entry_parameters, entry_value
from stethoscope.program.walk.settings_of_records import in_settings
from stethoscope.program.walk.values import (
    Applied,
    ClassValue,
    Constant,
    FunctionValue,
    Instance,
    Leaf,
    Value,
)

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution

BEHIND_WRAPPERS = frozenset({"module", "_orig_mod"})
SETUP_NAMES = ("setup", "build", "init", "configure", "prepare", "create", "define", "set", "on_", "make")


def instance_attribute(run: Execution, instance: Instance, name: str) -> Value:
    """`instance.name`."""
    run.initialise(instance)
    if name in instance.attributes and not _is_placeholder(run, instance, name):
        if _is_counted_in_rounds(run, instance, name):
            run.store(instance, name, Leaf(name))
        return instance.attributes[name]
    found = class_attribute(run, instance.cls, name, instance)
    if isinstance(found, FunctionValue) and "property" in found.function.decorators:
        return run.follow(found, (), {})
    if isinstance(found, Applied) and found.callee in field_defaults.MAKERS:
        found = field_defaults.field_default(run, found)
        if not isinstance(found, Constant):
            instance.attributes[name] = found  # each object has a list or table of its own
    if found is not None and not (instance.open and isinstance(found, Constant)):
        return in_settings(run, instance.cls, name, found) or found
    if _set_up(run, instance, name):
        return instance.attributes[name]
    if name in BEHIND_WRAPPERS and learns(run.index, instance.cls):
        return instance  # what wraps a network is followed as the network itself
    return run.part(instance, name)


def class_attribute(run: Execution, cls: Class, name: str, instance: Instance | None = None) -> Value | None:
    """A method or variable of a class, bound to the object where there is one."""
    for ancestor in run.index.lineage(cls):
        if name in ancestor.methods:
            method = ancestor.methods[name]
            bound: Value | None = instance
            if "staticmethod" in method.decorators:
                bound = None
            elif "classmethod" in method.decorators:
                bound = ClassValue(cls)
            found = run.decorated_function(FunctionValue(method))
            return replace(found, bound=bound) if isinstance(found, FunctionValue) else found
        if name in ancestor.variables:
            made = run.evaluate(ancestor.variables[name], Frame(run.index.module_of(ancestor.source), {}))
            if isinstance(made, Applied) and made.callee == "enum.auto":
                return Constant(list(ancestor.variables).index(name) + 1)
            fill_of_class(run, made, ancestor, name)
            return made
    return None


def _is_counted_in_rounds(run: Execution, instance: Instance, name: str) -> bool:
    """Whether a method counts an attribute up while a loop goes round: `self.calls += 1`."""
    value = instance.attributes[name]
    if not run.tracing or not isinstance(value, Constant) or isinstance(value.value, bool | str | None):
        return False
    scopes = run.scope.outwards() if run.scope is not None else iter(())
    if not any(scope.kind == "loop" for scope in scopes):
        return False
    return any(name in _counted_attributes(ancestor) for ancestor in run.index.lineage(instance.cls))


def _is_placeholder(run: Execution, instance: Instance, name: str) -> bool:
    """`self.gt = None` in __init__, which another method that was not followed yet fills."""
    value = instance.attributes[name]
    if not (isinstance(value, Constant) and value.value is None):
        return False
    return any(name in _assigned_later(ancestor) for ancestor in run.index.lineage(instance.cls))


def _set_up(run: Execution, instance: Instance, name: str) -> bool:
    """Frameworks call setup(), configure_...(); follow the one that gives the missing attribute."""
    if (instance, name) in run.setting_up:
        return False
    run.setting_up.add((instance, name))
    for ancestor in run.index.lineage(instance.cls):
        for method in _setup_methods(ancestor).get(name, ()):
            if method in run.stack:
                continue
            keywords = {p: entry_value(method, p) for p in entry_parameters(method)}
            run.follow(FunctionValue(method, instance), (), keywords)
            if name in instance.attributes:
                return True
    return False


@lru_cache(maxsize=1024)
def _counted_attributes(cls: Class) -> frozenset[str]:
    """The attributes that methods count up by a number."""
    return frozenset(
        node.target.attr
        for method in cls.methods.values()
        for node in own_nodes(method.node, ast.AugAssign)
        if isinstance(node.target, ast.Attribute)
        and dotted(node.target.value) == "self"
        and isinstance(node.value, ast.Constant)
    )


@lru_cache(maxsize=1024)
def _assigned_later(cls: Class) -> frozenset[str]:
    """The attributes that methods other than __init__ assign."""
    return frozenset(
        node.attr
        for method in cls.methods.values()
        if method.name != "__init__"
        for node in own_nodes(method.node, ast.Attribute)
        if isinstance(node.ctx, ast.Store) and dotted(node.value) == "self"
    )


@lru_cache(maxsize=1024)
def _setup_methods(cls: Class) -> dict[str, list[Function]]:
    """The methods that set something up, by the attributes they assign."""
    found: dict[str, list[Function]] = {}
    for method in cls.methods.values():
        if method.name == "__init__" or not method.name.lstrip("_").startswith(SETUP_NAMES):
            continue
        for node in own_nodes(method.node):
            if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store):
                continue
            if dotted(node.value) == "self":
                found.setdefault(node.attr, []).append(method)
    return found
