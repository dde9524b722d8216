"""How many processes train together.

    num_gpu: 4      world_size      nproc_per_node and nnodes      devices      num_processes      n_gpus

`part` is "nodes" or "per node" where the two are given apart.
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("processes", 22)

_ALL = re.compile(r"(?:world_size|num_processes|dp_size|data_parallel_size)")
_PER_NODE = re.compile(
    r"(?:(?:num|n)_?gpus?|gpus|devices|nproc_per_node|gpus_per_node|num_gpus_per_(?:node|worker)|ngpu|nproc"
    r"|n_devices|num_devices|devices_per_node)"
)
_NODES = re.compile(r"(?:num_nodes|nnodes|num_machines|n_nodes|nodes)")
MOST = 100_000
# `data.nodes` counts a graph's; a model has nodes and processes of its own.
_ELSEWHERE = frozenset({"model", "network", "data", "dataset", "net", "arch"})


def read(spelling: Spelling) -> Amount | None:
    """A number of processes, devices or nodes; a list of devices counts them."""
    part = _part(spelling)
    if part is None or spelling.around & _ELSEWHERE:
        return None
    is_list = isinstance(spelling.value, list) and spelling.leaf in {"devices", "gpus"}
    number = float(len(spelling.value)) if is_list else spelling.number  # type: ignore[arg-type]
    if number is None or not 1 <= number <= MOST or number != int(number):
        return None
    return Amount(int(number), part=part)


def _part(spelling: Spelling) -> str | None:
    if _ALL.fullmatch(spelling.leaf):
        return ""
    if _PER_NODE.fullmatch(spelling.leaf):
        return "per node"
    return "nodes" if _NODES.fullmatch(spelling.leaf) else None
