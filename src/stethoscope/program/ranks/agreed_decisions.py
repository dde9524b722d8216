"""Decisions that one rank takes alone, asked of all ranks: the splices that make a condition a common one."""

from __future__ import annotations

import ast

from stethoscope.program.edits.call_edits import name_of_module, replaced
from stethoscope.program.edits.statements import is_inline, is_name_chain, put_before
from stethoscope.program.index import Index
from stethoscope.program.loop.moves import full_name, receiver_role
from stethoscope.program.loop.roles import Role
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Call, Event
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import Constant
from stethoscope.run import Source, Splice

BACKENDS = {"nccl": ', device="cuda"', "gloo": "", "mpi": ""}  # and where their tensors are


def agreed_by_all(
    index: Index, source: Source, test: ast.expr, device: str, is_any: bool = True
) -> tuple[Splice, ...]:
    """The condition of an `if` reduced over the ranks before it: met where one meets it, or where all do.

    `device` is written behind the value of the tensor, with its comma.
    """
    modules = index.module_of(source).imports
    distributed, torch = (name_of_module(modules, name) for name in ("torch.distributed", "torch"))
    statement = next((one for one in all_nodes(source.tree, ast.If) if one.test is test), None)
    if statement is None or not distributed or not torch or not _begins_with_if(source, statement):
        return ()
    name, told = _free_name(source), ast.unparse(test)
    operation = f"{distributed}.ReduceOp.{'MAX' if is_any else 'MIN'}"
    lines = (
        f"{name} = {torch}.tensor(float({told}){device})\n{distributed}.all_reduce({name}, op={operation})"
    )
    asked = replaced(source, test, name)
    return (put_before(source, statement, lines), asked) if asked is not None else ()


def averaged_over_all(
    index: Index, source: Source, call: ast.stmt, argument: ast.expr, device: str
) -> tuple[Splice, ...]:
    """A number that a call is told, averaged over the ranks before it."""
    modules = index.module_of(source).imports
    distributed, torch = (name_of_module(modules, name) for name in ("torch.distributed", "torch"))
    if not distributed or not torch or is_inline(source, call):
        return ()
    name = _free_name(source)
    lines = f"{name} = {torch}.tensor({ast.unparse(argument)}{device})\n{distributed}.all_reduce({name})"
    told = replaced(source, argument, f"{name}.item() / {distributed}.get_world_size()")
    return (put_before(source, call, lines), told) if told is not None else ()


def asked_through(engine: str, kind: str, source: Source, index: Index, test: ast.expr) -> tuple[Splice, ...]:
    """A condition gathered by the engine that knows the ranks: met where one of them meets it."""
    torch = name_of_module(index.module_of(source).imports, "torch")
    if not torch:
        return ()
    own = f"{torch}.tensor(float({ast.unparse(test)}), device={engine}.device)"
    asked = replaced(source, test, f"{engine}.{kind}({own}).max() > 0")
    return (asked,) if asked is not None else ()


def engine_at(trace: Trace, event: Event) -> tuple[str, str] | None:
    """The name of the engine in the function of an event, and how it gathers."""
    for one in trace.events:
        if not isinstance(one, Call) or one.within != event.within or one.receiver is None:
            continue
        if receiver_role(trace.run, one) is not Role.ENGINE or not isinstance(one.site.node, ast.Call):
            continue
        written = one.site.node.func
        if isinstance(written, ast.Attribute) and is_name_chain(written.value):
            made = str(getattr(one.receiver, "callee", "")).rpartition(".")[2]
            if made in {"Accelerator", "Fabric"}:
                return ast.unparse(written.value), "gather" if made == "Accelerator" else "all_gather"
    return None


def device_of_ranks(trace: Trace) -> str | None:
    """Where tensors of a collective have to be, by the backend that the program asks for."""
    for event in trace.events:
        if isinstance(event, Call) and full_name(event).endswith("init_process_group"):
            backend = event.argument(0, "backend")
            return BACKENDS.get(str(backend.value)) if isinstance(backend, Constant) else None
    return None


def _begins_with_if(source: Source, statement: ast.If) -> bool:
    line = source.text.split("\n")[statement.lineno - 1]
    return line.encode()[statement.col_offset :].startswith(b"if")


def _free_name(source: Source) -> str:
    names = {one.id for one in all_nodes(source.tree, ast.Name)}
    return next(name for name in ("agreed", "agreed_by_all", "agreed_by_all_ranks") if name not in names)
