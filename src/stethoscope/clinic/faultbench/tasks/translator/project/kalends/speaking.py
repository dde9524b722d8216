"""Translation without a teacher, one mark after the other."""

from __future__ import annotations

import torch
from torch import Tensor

from kalends.layers import Translator
from kalends.vocabulary import FILL, START, STOP


@torch.no_grad()
def greedy(net: Translator, spoken: Tensor, longest: int) -> Tensor:
    """The likeliest mark each time; behind the end of a date nothing follows."""
    memory, visible = net.encode(spoken)
    said = torch.full((len(spoken), 1), START)
    ended = torch.zeros(len(spoken), dtype=torch.bool)
    for _ in range(longest):
        mark = net.decode(said, memory, visible)[:, -1].argmax(dim=-1)
        mark = mark.masked_fill(ended, FILL)
        ended |= mark == STOP
        said = torch.cat([said, mark[:, None]], dim=1)
        if ended.all():
            break
    return said[:, 1:]


def agree(said: Tensor, wanted: Tensor) -> Tensor:
    """Which dates were said exactly as they should be."""
    missing = wanted.shape[1] - said.shape[1]
    if missing > 0:
        said = torch.nn.functional.pad(said, (0, missing), value=FILL)
    return (said[:, : wanted.shape[1]] == wanted).all(dim=1)
