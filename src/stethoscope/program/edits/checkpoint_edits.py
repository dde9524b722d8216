"""What a checkpoint lacks, put into it: an entry where it is saved, and a load where it is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.edits.call_edits import with_entry
from stethoscope.program.edits.known_names import name_at
from stethoscope.program.edits.statements import blocks_around, is_inline, is_name_chain, put_after
from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.values import Value
from stethoscope.run import Fix, Level, Splice

ENDINGS = ("_state_dict", "_state", "_dict")  # of keys, which the others then have too

STEMS = {"optimizer": "optim", "scheduler": "sched", "average": "ema"}  # of what such keys are called


def restored_too(walk: Walk, weights: Call, parts: dict[str, Value | None]) -> Fix | None:
    """The fix that saves and restores further parts beside the weights; `parts` are called by their kind.

    It is safe where the checkpoints that are written hold them already. Else files that exist do not.
    """
    if weights.name in {"load", "load_raw"}:
        return _filled_too(walk, weights, parts)
    held = _entry_of(weights)
    if held is None or not parts:
        return None
    checkpoint, key = held
    tables = list(_saved_with(walk, key))
    if not tables:
        return None
    loads: list[str] = []
    splices: list[Splice] = []
    for kind, part in parts.items():
        name = name_at(walk, part, weights)
        entry = _key_in(tables, kind, key)
        if not name:
            return None
        loads.append(f'{name}.load_state_dict({checkpoint}["{entry}"])')
        for table, position, saved in tables:
            if entry in _keys(table):
                continue
            saved_as = name_at(walk, part, saved)
            written = f"{saved_as}.state_dict()" if saved.name == "state_dict" else saved_as
            added = with_entry(saved.site.source, table, position, entry, written)
            if not saved_as or added is None:
                return None
            splices.append(added)
    source = weights.site.source
    block, place = blocks_around(source, weights.site.node)[0]
    if is_inline(source, block[place]):
        text = "; ".join(loads)
    elif isinstance(block[place], ast.Expr):
        text = "\n".join(loads)
    else:
        return None
    level = Level.UNSAFE if splices else Level.SAFE
    title = f"{'save and restore' if splices else 'restore'} the state of the {_listed(list(parts))} too"
    return Fix(title, level, (_joined(splices, put_after(source, block[place], text))))


def _joined(splices: list[Splice], load: Splice) -> tuple[Splice, ...]:
    """Entries that are added at one place as one splice."""
    found: dict[tuple[str, int], Splice] = {}
    for one in splices:
        known = found.get((one.file, one.start))
        text = one.text if known is None else known.text + one.text
        found[one.file, one.start] = Splice(one.file, one.start, one.end, text)
    return (*found.values(), load)


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _entry_of(weights: Call) -> tuple[str, str] | None:
    """The checkpoint and the key that weights are taken from: `load_state_dict(checkpoint["model"])`."""
    node = weights.site.node
    if not isinstance(node, ast.Call) or not node.args or weights.name != "load_state_dict":
        return None
    piece = node.args[0]
    if not isinstance(piece, ast.Subscript) or not is_name_chain(piece.value):
        return None
    key = piece.slice.value if isinstance(piece.slice, ast.Constant) else None
    return (ast.unparse(piece.value), key) if isinstance(key, str) else None


def _saved_with(walk: Walk, key: str) -> Iterator[tuple[ast.Dict, int, Call]]:
    """The tables that keep weights under a key, each with its position there and a call beside it.

    The call is that of `state_dict()`, or the `save` of an engine that takes the parts as they are.
    """
    seen: set[int] = set()
    for event in walk.trace.events:
        if not isinstance(event, Call) or id(event.site.node) in seen:
            continue
        seen.add(id(event.site.node))
        if event.name == "state_dict":
            for node in all_nodes(event.site.source.tree):
                if isinstance(node, ast.Dict) and event.site.node in node.values and key in _keys(node):
                    position = [value is event.site.node for value in node.values].index(True)
                    if getattr(node.keys[position], "value", None) == key:
                        yield node, position, event
        elif event.name == "save" and isinstance(event.site.node, ast.Call):
            for given in event.site.node.args:
                if isinstance(given, ast.Dict) and _is_whole(given, key):
                    yield given, [getattr(one, "value", None) for one in given.keys].index(key), event


def _is_whole(table: ast.Dict, key: str) -> bool:
    """Whether a table holds the part itself under a key: `{"model": model}`."""
    pairs = zip(table.keys, table.values, strict=True)
    return any(getattr(one, "value", None) == key and is_name_chain(value) for one, value in pairs)


def _filled_too(walk: Walk, load: Call, parts: dict[str, Value | None]) -> Fix | None:
    """One more entry in the table that an engine fills: `fabric.load(path, {"model": model})`."""
    made = _table_of(walk, load)
    if made is None or list(parts) != ["optimizer"]:
        return None
    table, event = made
    name = name_at(walk, parts["optimizer"], event)
    splice = with_entry(event.site.source, table, 0, "optimizer", name) if table.keys else None
    if not name or splice is None:
        return None
    saves = [one for one in walk.trace.events if isinstance(one, Call) and one.name == "save"]
    nodes = [given for one in saves for given in getattr(one.site.node, "args", ())]
    tables = [node for node in nodes if isinstance(node, ast.Dict)]
    is_saved = bool(tables) and all("optimizer" in _keys(one) for one in tables)
    return Fix("restore the optimizer too", Level.SAFE if is_saved else Level.UNSAFE, (splice,))


def _table_of(walk: Walk, load: Call) -> tuple[ast.Dict, Event] | None:
    """The table that a load is given, as written there or under a name before."""
    node = load.site.node
    given = node.args[1] if isinstance(node, ast.Call) and len(node.args) > 1 else None
    if isinstance(given, ast.Dict):
        return given, load
    for event in walk.trace.events[: walk.place(load)] if isinstance(given, ast.Name) else ():
        if not isinstance(event, Assignment) or event.within != load.within:
            continue
        statement = _statement(event)
        if (
            given is not None
            and ast.unparse(event.target) == ast.unparse(given)
            and isinstance(statement, ast.Assign)
        ):
            return (statement.value, event) if isinstance(statement.value, ast.Dict) else None
    return None


def _statement(event: Event) -> ast.stmt | None:
    around = blocks_around(event.site.source, event.site.node)
    return around[0][0][around[0][1]] if around else None


def _key_in(tables: list[tuple[ast.Dict, int, Call]], kind: str, beside: str) -> str:
    """The key of a part: the one that checkpoints have for it, else one made as that of the weights is."""
    for table, _, _ in tables:
        for key in _keys(table):
            if STEMS.get(kind, kind) in key.lower():
                return key
    ending = next((one for one in ENDINGS if beside.endswith(one)), "")
    return f"{'ema' if kind == 'average' else kind}{ending}"


def _keys(table: ast.Dict) -> list[str]:
    return [key.value for key in table.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
