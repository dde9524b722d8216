"""Which variables of the environment a program reads: `os.environ.get("LR", 1e-3)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from stethoscope.program.index import Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Spot, mentions, text_of
from stethoscope.program.settings.texts_as_truth import ENVIRONMENT

HOLDER = frozenset({"os.environ", "environ"})
# What reads variables by names of its own making.
ELSEWHERE = re.compile(r"\b(?:BaseSettings|environs|decouple|dynaconf|envvar|auto_env|EnvYAML|load_dotenv)\b")


@dataclass(frozen=True, slots=True, eq=False)
class EnvironmentReads:
    """The variables that a program reads by name, with the default where they have one.

    `is_whole` says that nothing takes the environment in any other way.
    """

    defaults: Mapping[str, tuple[Spot, str]] = field(default_factory=dict)
    is_whole: bool = True


@remembered
def environment_reads(index: Index) -> EnvironmentReads:
    """Every read that gives a default, and whether they are all there is."""
    code = mentions(index)
    defaults: dict[str, tuple[Spot, str]] = {}
    known: set[int] = set()
    for name in ("get", "getenv"):
        for spot in code.calls.get(name, ()):
            node = spot.node
            if not isinstance(node, ast.Call) or dotted(node.func) not in ENVIRONMENT or not node.args:
                continue
            asked = text_of(node.args[0])
            if asked is None:
                return EnvironmentReads(is_whole=False)
            known.add(id(node.func.value) if isinstance(node.func, ast.Attribute) else 0)
            if len(node.args) == 2:
                defaults.setdefault(asked, (spot, ast.unparse(node.args[1])))
    holders = [*code.attributes.get("environ", ()), *code.names("environ")]
    is_whole = all(
        id(spot.node) in known or _is_one_variable(code.parents.get(id(spot.node)))
        for spot in holders
        if dotted(spot.node) in HOLDER
    )
    texts = any(ELSEWHERE.search(source.text) for source in index.program)
    return EnvironmentReads(defaults, is_whole and not texts)


def _is_one_variable(around: ast.AST | None) -> bool:
    """`os.environ["LR"]` and `"LR" in os.environ`."""
    match around:
        case ast.Subscript(slice=ast.Constant()):
            return True
        case ast.Compare(left=ast.Constant()):
            return True
        case ast.Attribute(attr="get" | "setdefault" | "pop"):
            return True
    return False
