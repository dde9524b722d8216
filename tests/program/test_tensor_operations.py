"""The tensor operations computed in numpy agree with torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from stethoscope.program.walk.tensor_operations import LARGEST, CannotCompute, compute, compute_layer

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 0.9, (2, 3, 12, 10))
Y = RNG.uniform(0.1, 0.9, (2, 3, 12, 10))
KERNEL = RNG.normal(size=(3, 1, 3, 3))
MIXING = RNG.normal(size=(4, 3, 3, 3))
LABELS = RNG.integers(0, 3, (2, 12, 10))


@pytest.mark.parametrize(
    ("name", "args", "keywords", "torch_function"),
    [
        ("torch.masked_fill", (X, X > 0.5, 0.0), {}, torch.masked_fill),
        ("torch.masked_select", (X, X > 0.5), {}, torch.masked_select),
        ("torch.scatter", (np.zeros((2, 3, 12, 10)), 1, LABELS[:, None], 1.0), {}, torch.scatter),
        ("torch.index_select", (X, 2, np.array([3, 1])), {}, torch.index_select),
        ("torch.movedim", (X, 1, -1), {}, torch.movedim),
        ("torch.cumprod", (X, 1), {}, torch.cumprod),
        ("torch.expm1", (X,), {}, torch.expm1),
        ("torch.nn.functional.logsigmoid", (X,), {}, F.logsigmoid),
        ("torch.nn.functional.conv2d", (X, KERNEL), {"padding": 1, "groups": 3}, F.conv2d),
        ("torch.nn.functional.conv2d", (X, MIXING), {"stride": 2}, F.conv2d),
        ("torch.nn.functional.avg_pool2d", (X, 3), {"stride": 1}, F.avg_pool2d),
        ("torch.nn.functional.max_pool2d", (X, 2), {}, F.max_pool2d),
        ("torch.nn.functional.adaptive_avg_pool2d", (X, 2), {}, F.adaptive_avg_pool2d),
        ("torch.nn.functional.pad", (X, (1, 2, 3, 0)), {"mode": "reflect"}, F.pad),
        ("torch.nn.functional.unfold", (X, 3), {"padding": 1}, F.unfold),
        ("torch.nn.functional.l1_loss", (X, Y), {}, F.l1_loss),
        ("torch.nn.functional.mse_loss", (X, Y), {"reduction": "sum"}, F.mse_loss),
        ("torch.nn.functional.smooth_l1_loss", (X, Y), {}, F.smooth_l1_loss),
        ("torch.nn.functional.binary_cross_entropy", (X, Y), {}, F.binary_cross_entropy),
        (
            "torch.nn.functional.binary_cross_entropy_with_logits",
            (X, Y),
            {},
            F.binary_cross_entropy_with_logits,
        ),
        ("torch.nn.functional.cosine_similarity", (X, Y), {"dim": 1}, F.cosine_similarity),
        ("torch.nn.functional.normalize", (X,), {"dim": 1}, F.normalize),
        ("torch.nn.functional.softmax", (X,), {"dim": 1}, F.softmax),
        ("torch.nn.functional.log_softmax", (X,), {"dim": 1}, F.log_softmax),
        ("torch.logsumexp", (X, 1), {}, torch.logsumexp),
        ("torch.var", (X,), {"dim": 1, "unbiased": False}, torch.var),
        ("torch.std", (X, 1), {}, torch.std),
        ("torch.norm", (X,), {"dim": 1}, torch.norm),
        ("torch.clamp", (X,), {"min": 0.3}, torch.clamp),
        ("torch.cat", ((X, Y),), {"dim": 1}, torch.cat),
        ("torch.stack", ((X, Y),), {}, torch.stack),
        ("torch.einsum", ("bchw,bchw->bc", X, Y), {}, torch.einsum),
        ("torch.amax", (X,), {"dim": (2, 3)}, torch.amax),
    ],
)
def test_a_function_gives_what_torch_gives(
    name: str, args: tuple[Any, ...], keywords: dict[str, Any], torch_function: Callable[..., torch.Tensor]
) -> None:
    ours = compute(name, args, keywords)
    theirs = torch_function(*_tensors(args), **keywords)
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("mean", ((2, 3),)),
        ("sum", (1, True)),
        ("var", (1,)),
        ("flatten", (1,)),
        ("view", (2, -1)),
        ("permute", (0, 2, 3, 1)),
        ("transpose", (1, 2)),
        ("unsqueeze", (1,)),
        ("expand", (2, 3, 12, 10)),
        ("pow", (2,)),
        ("norm", ()),
        ("clamp", (0.2, 0.4)),
    ],
)
def test_a_method_gives_what_torch_gives(method: str, args: tuple[Any, ...]) -> None:
    ours = compute(f".{method}", (X, *args), {})
    np.testing.assert_allclose(ours, getattr(torch.from_numpy(X), method)(*args).numpy(), rtol=1e-9)


def test_cross_entropy_takes_labels_and_probabilities() -> None:
    logits, labels = torch.from_numpy(X), torch.from_numpy(LABELS)
    np.testing.assert_allclose(
        compute("torch.nn.functional.cross_entropy", (X, LABELS), {}), F.cross_entropy(logits, labels)
    )
    soft = F.one_hot(labels, 3).movedim(-1, 1).double()
    np.testing.assert_allclose(
        compute("torch.nn.functional.cross_entropy", (X, soft.numpy()), {}), F.cross_entropy(logits, soft)
    )


def test_a_layer_is_its_function_with_the_arguments_it_was_made_with() -> None:
    ours = compute_layer("torch.nn.AvgPool2d", (3, 1), {}, (X,), {})
    np.testing.assert_allclose(ours, torch.nn.AvgPool2d(3, 1)(torch.from_numpy(X)).numpy())
    ours = compute_layer("torch.nn.L1Loss", (), {"reduction": "sum"}, (X, Y), {})
    np.testing.assert_allclose(ours, np.abs(X - Y).sum())


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("os.system", ("true",)),
        ("torch.load", ("file",)),
        ("torch.zeros", ((LARGEST, 2),)),
        (".repeat", (X, 10_000, 10_000, 1, 1)),
        ("torch.nn.functional.conv2d", (X, KERNEL)),
    ],
)
def test_what_is_not_listed_or_too_large_is_not_computed(name: str, args: tuple[Any, ...]) -> None:
    with pytest.raises(CannotCompute):
        compute(name, args, {})


def _tensors(args: tuple[Any, ...]) -> list[Any]:
    def convert(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return torch.from_numpy(value)
        if isinstance(value, tuple) and any(isinstance(item, np.ndarray) for item in value):
            return tuple(map(convert, value))
        return value

    return [convert(value) for value in args]
