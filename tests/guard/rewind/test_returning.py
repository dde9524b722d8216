"""How far a run goes back, and what it says where it cannot."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from stethoscope.guard.happening import Kind
from stethoscope.guard.policy import Policy
from stethoscope.guard.rewind.returning import Returning


def returning(steps: range) -> Returning:
    """The snapshots of a small run."""
    model = nn.Linear(2, 2)
    policy = Policy(rewind=True, snapshot_steps=50)
    kept = Returning(model, [torch.optim.SGD(model.parameters(), 0.1)], None, None, None, policy)
    for step in steps:
        kept.before(step)
    return kept


@pytest.mark.parametrize(("onset", "to_step"), [(2000, 1900), (1999, 1850), (1750, 1650)])
def test_a_run_goes_back_well_before_the_onset_where_it_can(onset: int, to_step: int) -> None:
    told = returning(range(2001)).go_back(onset, 2001)
    assert (told.kind, told.facts["to_step"]) == (Kind.REWOUND, to_step)


@pytest.mark.parametrize(("onset", "to_step"), [(170, 150), (165, 100), (40, 0)])
def test_a_young_run_goes_back_a_tenth_of_its_age(onset: int, to_step: int) -> None:
    told = returning(range(180)).go_back(onset, 180)
    assert (told.kind, told.facts["to_step"]) == (Kind.REWOUND, to_step)


def test_ranks_go_back_to_a_step_that_all_of_them_hold() -> None:
    told = returning(range(2001)).go_back(2000, 2001, common=(1700, 1750))
    assert told.facts["to_step"] == 1750


def test_before_the_first_snapshot_there_is_nothing_to_go_back_to() -> None:
    assert returning(range(1, 40)).go_back(30, 40).kind is Kind.CANNOT_REWIND
