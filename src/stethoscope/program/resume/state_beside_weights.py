"""The fix for checkpoints that are bare weights: the rest of the state in a hidden file beside each of them.

    torch.save(model.state_dict(), path)
    beside = Path(path)
    torch.save({"optimizer": optimizer.state_dict()}, beside.with_name(f".{beside.name}.resume"))

The weights stay as they are, for all else that reads them, and what was written before can still be loaded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from stethoscope.program.edits.handed_parts import Known, handed_in, known_at
from stethoscope.program.edits.statements import (
    Block,
    blocks_around,
    deeper,
    holding,
    indent_of,
    is_inline,
    put_after,
    put_before,
)
from stethoscope.program.evaluation.evaluations import Walk, names_in
from stethoscope.program.index import External, Index, dotted
from stethoscope.program.loop.moves import receiver_role
from stethoscope.program.loop.roles import Role
from stethoscope.program.resume.checkpointing import replays, schedules
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Value
from stethoscope.run import Fix, Level, Source, Splice

ESSENTIAL = "optimizer"  # of the parts: without it nothing is mended
NEW_NAMES = frozenset({"beside", "kept"})  # that the fix brings into a file
HIDDEN = 'beside.with_name(f".{beside.name}.resume")'
WIDEST = 100  # columns
# The last names of calls that give the same path whenever they are asked.
PATHS = frozenset({"join", "joinpath", "Path", "PurePath", "str", "format", "with_suffix", "with_name"})


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A statement behind which the fix writes; `file` is the call of torch.save or torch.load in question."""

    event: Call
    statement: ast.stmt
    file: ast.Call
    path: ast.expr

    @property
    def source(self) -> Source:
        """The file of source that it is in."""
        return self.event.site.source


def kept_beside(walk: Walk, weights: Call, parts: Mapping[str, Value | None]) -> Fix | None:
    """The fix that keeps `parts` beside bare weights and restores them with these; the parts by their kind.

    None where the files are not followed, or the optimizer is not known at each place that saves or loads.
    Other parts are left out where they are not known.
    """
    loaded, saved = _loaded(walk, weights), tuple(_saved(walk))
    if loaded is None or not saved or not all(map(_is_writable, (*saved, loaded))):
        return None
    if any(True for _ in replays(walk)) and any(_is_ahead(walk, place) for place in saved):
        return None  # the replay is exact, and the state that was saved would be one step behind
    found = {kind: _known(walk, kind, part, (*saved, loaded)) for kind, part in parts.items()}
    known = {kind: names for kind, names in found.items() if names}
    handed = handed_in(one for names in known.values() for name in names for one in name.handings)
    if ESSENTIAL not in known or handed is None:
        return None
    written = (
        put_after(place.source, place.statement, _text(place, {k: v[number].name for k, v in known.items()}))
        for number, place in enumerate((*saved, loaded))
    )
    imports = dict.fromkeys(_imported(walk.trace.run.index, place.source) for place in (*saved, loaded))
    title = f"keep the state of the {_listed(list(known))} beside the weights"
    return Fix(title, Level.UNSAFE, (*filter(None, imports), *handed, *written))


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _known(walk: Walk, kind: str, part: Value | None, places: Iterable[Place]) -> tuple[Known, ...]:
    """What a part is called at each place; nothing where one of them does not know it."""
    found = [known_at(walk, part, place.event, kind) for place in places]
    known = tuple(one for one in found if one is not None)
    return known if len(known) == len(found) else ()


# Where weights are saved and loaded


def _loaded(walk: Walk, weights: Call) -> Place | None:
    """Where bare weights come back, behind a replay of the schedule, which needs the rate as it was made."""
    node, source = weights.site.node, weights.site.source
    if weights.name != "load_state_dict" or not isinstance(node, ast.Call) or not node.args:
        return None
    block, position = blocks_around(source, node)[0]
    file = _called(walk, source, _written_out(block[:position], node.args[0]), "torch.load")
    if file is None or not file.args or not _is_lasting(file.args[0]):
        return None
    behind = _behind_replays(walk, weights, block, position)
    return Place(weights, block[behind], file, file.args[0]) if behind is not None else None


def _behind_replays(walk: Walk, weights: Call, block: Block, position: int) -> int | None:
    """The position in a block to write behind; None where the schedule is replayed out of its sight."""
    for move, loop in replays(walk):
        at = holding(block, loop.node) if move.event.within == weights.within else None
        if at is None or at < position:
            return None
        position = at
    return position


def _saved(walk: Walk) -> Iterator[Place]:
    """Each statement that saves bare weights of the network."""
    seen: set[int] = set()
    for event in walk.trace.events:
        if not isinstance(event, Call) or event.name != "save" or id(event.site.node) in seen:
            continue
        seen.add(id(event.site.node))
        source = event.site.source
        file = _called(walk, source, event.site.node, "torch.save")
        if file is None or len(file.args) < 2 or not _is_lasting(file.args[1]):
            continue
        block, position = blocks_around(source, file)[0]
        if _is_weights(walk, _written_out(block[:position], file.args[0])):
            yield Place(event, block[position], file, file.args[1])


def _written_out(before: Block, given: ast.expr) -> ast.expr:
    """What a name was made in the statements before; anything else as it is."""
    for statement in reversed(before):
        if isinstance(statement, ast.Assign) and ast.unparse(given) in map(ast.unparse, statement.targets):
            return statement.value
    return given


def _called(walk: Walk, source: Source, node: ast.AST, full: str) -> ast.Call | None:
    """A call of a function from outside, by its full name."""
    index = walk.trace.run.index
    name = dotted(node.func) if isinstance(node, ast.Call) else None
    meant = index.resolve(index.module_of(source), name) if name else None
    is_meant = isinstance(meant, External) and meant.name == full
    return node if is_meant and isinstance(node, ast.Call) else None


def _is_weights(walk: Walk, given: ast.expr) -> bool:
    return any(
        isinstance(event, Call)
        and event.site.node is given
        and event.name == "state_dict"
        and receiver_role(walk.trace.run, event) is Role.MODEL
        for event in walk.trace.events
    )


def _is_lasting(path: ast.expr) -> bool:
    """Whether an expression can be written once more and names the same file."""
    calls = all_nodes(path, ast.Call)
    return {getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls} <= PATHS


def _is_writable(place: Place) -> bool:
    """Whether lines can be put behind a statement, and the names that they bring along are free."""
    is_simple = isinstance(place.statement, ast.Expr | ast.Assign | ast.For | ast.While)
    is_free = NEW_NAMES.isdisjoint(names_in(place.source.tree))
    return is_simple and is_free and not is_inline(place.source, place.statement)


def _is_ahead(walk: Walk, place: Place) -> bool:
    """Whether a checkpoint is saved before the schedule makes the step of its epoch."""
    steps = (walk.place(move.event) for move in schedules(walk))
    return walk.place(place.event) < min(steps, default=-1)


# What is written


def _text(place: Place, names: Mapping[str, str]) -> str:
    """The lines behind a save or a load; `names` are those of the parts, by their kind."""
    path = ast.get_source_segment(place.source.text, place.path) or ast.unparse(place.path)
    lines = _loading if place.event.name == "load_state_dict" else _saving
    return "\n".join((f"beside = Path({path})", *lines(place, names)))


def _saving(place: Place, names: Mapping[str, str]) -> Iterator[str]:
    entries = [f'"{kind}": {name}.state_dict()' for kind, name in names.items()]
    save, more = ast.unparse(place.file.func), deeper(place.source)
    whole = f"{save}({{{', '.join(entries)}}}, {HIDDEN})"
    if len(indent_of(place.source, place.statement)) + len(whole) <= WIDEST:
        yield whole
        return
    yield f"{save}("
    yield f"{more}{{{', '.join(entries)}}},"
    yield f"{more}{HIDDEN},"
    yield ")"


def _loading(place: Place, names: Mapping[str, str]) -> Iterator[str]:
    more = deeper(place.source)
    given = (ast.get_source_segment(place.source.text, word) for word in place.file.keywords)
    options = "".join(f", {one}" for one in given)
    yield f"beside = {HIDDEN}"
    yield "if beside.exists():"
    yield f"{more}kept = {ast.unparse(place.file.func)}(beside{options})"
    yield from (f'{more}{name}.load_state_dict(kept["{kind}"])' for kind, name in names.items())
    yield "else:"
    yield f'{more}print(f"{{beside}} is missing: only the weights are restored")'


def _imported(index: Index, source: Source) -> Splice | None:
    """What makes `Path` known in a file; nothing where it is."""
    if index.module_of(source).imports.get("Path") == "pathlib.Path":
        return None
    imports = (one for one in source.tree.body if isinstance(one, ast.Import | ast.ImportFrom))
    first = next(one for one in imports if getattr(one, "module", "") != "__future__")
    return put_before(source, first, "from pathlib import Path")
