"""Clipping on a GPU gives the same bits with Guard's functions in the place of torch's."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad

from stethoscope.guard.sensing import clip_norm

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
SIZES = (1, 7, 33, 1024, 100_003)


@pytest.fixture
def listening() -> Iterator[None]:
    listener = nn.Identity()
    clip_norm.listen(listener)
    yield
    clip_norm.leave(listener)


def parameters(*dtypes: torch.dtype, scale: float = 3.0) -> list[nn.Parameter]:
    torch.manual_seed(0)
    made = []
    for at, size in enumerate(SIZES):
        one = nn.Parameter(torch.zeros(size, device="cuda", dtype=dtypes[at % len(dtypes)]))
        one.grad = (scale * torch.randn(size, device="cuda")).to(one.dtype)
        made.append(one)
    return made


def by_torch(given: list[nn.Parameter], max_norm: float) -> tuple[Tensor, list[Tensor | None]]:
    norm = clip_grad.clip_grad_norm_(given, max_norm)
    return norm, [one.grad for one in given]


@pytest.mark.parametrize("dtypes", [(torch.float32,), (torch.bfloat16,), (torch.float32, torch.float16)])
@pytest.mark.parametrize("scale", [3.0, 1e-6, math.inf, math.nan])
def test_norm_and_gradients_are_those_of_torch(
    dtypes: tuple[torch.dtype, ...], scale: float, request: pytest.FixtureRequest
) -> None:
    norm, grads = by_torch(parameters(*dtypes, scale=scale), 1.0)
    request.getfixturevalue("listening")
    same_norm, same_grads = by_torch(parameters(*dtypes, scale=scale), 1.0)
    torch.testing.assert_close(same_norm, norm, rtol=0.0, atol=0.0, equal_nan=True)
    for one, other in zip(same_grads, grads, strict=True):
        torch.testing.assert_close(one, other, rtol=0.0, atol=0.0, equal_nan=True)


@pytest.mark.usefixtures("listening")
def test_a_part_of_the_gradients_is_clipped_by_the_norm_of_all() -> None:
    given = parameters(torch.float32)
    with torch.no_grad():
        norm = clip_grad._get_total_norm([one.grad for one in given])
        whole = [one.grad.clone() for one in given]
        clip_grad._clip_grads_with_norm_(given[:2], 1.0, norm)
    clipped = [torch.equal(one.grad, before) for one, before in zip(given, whole, strict=True)]
    assert clipped == [False, False, True, True, True]


@pytest.mark.usefixtures("listening")
def test_what_is_asked_for_is_left_to_torch() -> None:
    given = parameters(torch.float32, scale=math.nan)
    with pytest.raises(RuntimeError, match="non-finite"):
        clip_grad.clip_grad_norm_(given, 1.0, error_if_nonfinite=True)
    ones = parameters(torch.float32)
    assert clip_grad.clip_grad_norm_(ones, 1.0, norm_type=math.inf) == max(
        one.grad.abs().max() for one in parameters(torch.float32)
    )
