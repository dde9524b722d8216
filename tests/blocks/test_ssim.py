"""SSIM is the published one, and its losses make images more alike."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from torch import Tensor

from stethoscope.blocks.ssim import SCALE_WEIGHTS, MSSSIMLoss, SSIMLoss, ms_ssim_index, ssim_index
from tests.blocks.docstring_example import run_example
from tests.blocks.no_waiting import NoWaiting

Array = NDArray[np.float64]
HALVES = [torch.float16, torch.bfloat16]
TWO_SIZES = (0.5, 0.5)


def waves(height: int, width: int, channels: int = 1) -> tuple[Tensor, Tensor]:
    """Two images that are alike, without a generator whose numbers could change."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    images = []
    for k in range(channels):
        a = 0.5 + 0.3 * np.sin(x / 3 + 0.7 * k) * np.cos(y / 5 - 0.3 * k) + 0.1 * np.sin(x * y / 40)
        images.append((a + 0.08 * np.sin(x * 1.3 + y * 0.9 + k) - 0.02 * k, a))
    prediction, target = (np.stack([pair[i] for pair in images]) for i in (0, 1))
    return torch.from_numpy(prediction)[None], torch.from_numpy(target)[None]


# skimage 0.26.0: structural_similarity(b, a, gaussian_weights=True, sigma=1.5, use_sample_covariance=False,
# data_range=..., channel_axis=-1) on the images above.
@pytest.mark.parametrize(
    ("shape", "data_range", "expected"),
    [
        ((32, 24, 1), 1.0, 0.7359013300952093),
        ((32, 24, 1), 2.0, 0.7904146784125646),
        ((40, 48, 3), 1.0, 0.8108304726486475),
        ((40, 48, 3), 2.0, 0.8419709449668485),
    ],
)
def test_it_gives_what_scikit_image_gives(shape: tuple[int, int, int], data_range: float, expected: float):
    prediction, target = waves(*shape)
    assert ssim_index(prediction, target, data_range=data_range).item() == pytest.approx(expected, abs=1e-12)
    in_float32 = ssim_index(prediction.float(), target.float(), data_range=data_range)
    assert in_float32.item() == pytest.approx(expected, abs=2e-6)
    bytes_ = ssim_index(prediction * 255, target * 255, data_range=data_range * 255)
    assert bytes_.item() == pytest.approx(expected, abs=1e-12)


def _maps(x: Array, y: Array) -> tuple[float, float]:
    """SSIM and its contrast part by scipy's filter, which pads; what it padded is cut away."""

    def mean(values: Array) -> Array:
        return gaussian_filter(values, 1.5, truncate=3.5)

    mx, my = mean(x), mean(y)
    vx, vy, cov = mean((x - 0) ** 2) - mx**2, mean(y**2) - my**2, mean(x * y) - mx * my
    contrast = (2 * cov + 0.03**2) / (vx + vy + 0.03**2)
    whole = contrast * (2 * mx * my + 0.01**2) / (mx**2 + my**2 + 0.01**2)
    inside = (slice(5, -5), slice(5, -5))
    return float(whole[inside].mean()), float(contrast[inside].mean())


def _ms_ssim(x: Array, y: Array, weights: tuple[float, ...]) -> float:
    product = 1.0
    for size, weight in enumerate(weights):
        whole, contrast = _maps(x, y)
        product *= (whole if size == len(weights) - 1 else contrast) ** weight
        x, y = (_halved(image) for image in (x, y))
    return product


def _halved(image: Array) -> Array:
    image = image[: image.shape[0] // 2 * 2, : image.shape[1] // 2 * 2]
    return (image[::2, ::2] + image[1::2, ::2] + image[::2, 1::2] + image[1::2, 1::2]) / 4


@pytest.mark.parametrize("side", [(176, 180), (177, 191)])
def test_ms_ssim_is_the_product_over_five_sizes(side: tuple[int, int]):
    prediction, target = waves(*side, channels=2)
    expected = [
        _ms_ssim(p, t, SCALE_WEIGHTS) for p, t in zip(prediction[0].numpy(), target[0].numpy(), strict=True)
    ]
    assert ms_ssim_index(prediction, target).item() == pytest.approx(np.mean(expected), abs=1e-10)


def test_one_size_of_weight_one_is_plain_ssim():
    prediction, target = waves(20, 30)
    one = ms_ssim_index(prediction, target, weights=(1.0,))
    torch.testing.assert_close(one, ssim_index(prediction, target))


@pytest.mark.parametrize("loss", [SSIMLoss(), MSSSIMLoss(weights=TWO_SIZES)])
def test_equal_images_cost_nothing_and_unlike_ones_about_one(loss: torch.nn.Module):
    image = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    assert loss(image, image).item() == pytest.approx(0, abs=1e-6)
    other = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    assert 0.8 < loss(image, other).item() < 1.1


def test_an_inverted_image_is_below_zero():
    image = torch.rand(1, 1, 32, 32)
    assert ssim_index(1 - image, image).item() < -0.5


def test_there_is_one_number_for_each_image():
    image = torch.rand(3, 2, 16, 16)
    worse = image.clone()
    worse[1] += 0.3 * torch.rand(2, 16, 16)
    index = ssim_index(worse, image)
    assert index.shape == (3,)
    assert index[0] == index[2] == 1
    assert index[1] < 0.99


@pytest.mark.parametrize("loss", [SSIMLoss(), MSSSIMLoss(weights=TWO_SIZES)])
def test_going_down_the_gradient_raises_the_similarity(loss: torch.nn.Module):
    generator = torch.Generator().manual_seed(0)
    target = torch.rand(2, 3, 32, 32, generator=generator)
    prediction = (target + 0.2 * torch.randn(target.shape, generator=generator)).requires_grad_()
    before = ssim_index(prediction, target).mean().item()
    for _ in range(5):
        (gradient,) = torch.autograd.grad(loss(prediction, target), prediction)
        prediction = (prediction - 20 * gradient).detach().requires_grad_()
    assert ssim_index(prediction, target).mean().item() > before + 0.01


def test_a_negative_contrast_leaves_ms_ssim_and_its_gradient_finite():
    target = torch.rand(1, 1, 32, 32, generator=torch.Generator().manual_seed(0))
    prediction = (1 - target).requires_grad_()
    contrast = _maps(prediction[0, 0].detach().double().numpy(), target[0, 0].double().numpy())[1]
    assert contrast < 0
    loss = MSSSIMLoss(weights=TWO_SIZES)(prediction, target)
    loss.backward()
    assert 0 < loss.item() <= 1
    assert prediction.grad is not None
    assert prediction.grad.isfinite().all()


@pytest.mark.parametrize("loss", [SSIMLoss(), MSSSIMLoss(weights=TWO_SIZES)])
def test_flat_images_have_a_finite_gradient(loss: torch.nn.Module):
    for level in (0.0, 1.0):
        prediction = torch.full((1, 3, 32, 32), level, requires_grad=True)
        loss(prediction, torch.full((1, 3, 32, 32), 0.5)).backward()
        assert prediction.grad is not None
        assert prediction.grad.isfinite().all()


@pytest.mark.parametrize("dtype", HALVES)
def test_half_images_are_compared_in_float32(dtype: torch.dtype):
    prediction, target = (image.to(dtype) for image in waves(32, 32))
    exact = ssim_index(prediction.double(), target.double())
    with torch.autocast("cpu", dtype=dtype):
        index = ssim_index(prediction, target)
    assert index.dtype == torch.float32
    assert index.item() == pytest.approx(exact.item(), abs=2e-6)


def test_a_faint_texture_on_a_bright_ground_is_seen_from_half_images():
    y, x = torch.meshgrid(torch.arange(24), torch.arange(24), indexing="ij")
    board = (0.998 + 0.004 * ((x + y) % 2)).half()[None, None]
    opposite = (1.002 - 0.004 * ((x + y) % 2)).half()[None, None]
    assert board.double().var(correction=0).item() == pytest.approx(4e-6, rel=0.1)
    assert (board * board).mean() - board.mean() ** 2 == 0  # the same in float16
    exact = ssim_index(board.double(), opposite.double(), data_range=0.01).item()
    assert exact < -0.9
    assert ssim_index(board, opposite, data_range=0.01).item() == pytest.approx(exact, abs=0.05)


def test_first_and_second_derivatives_are_right():
    prediction, target = waves(6, 6)
    function = lambda x: ms_ssim_index(x, target, window_size=3, weights=TWO_SIZES)  # noqa: E731
    assert torch.autograd.gradcheck(function, prediction.requires_grad_())
    assert torch.autograd.gradgradcheck(function, prediction, fast_mode=True)


def test_an_image_that_is_too_small_says_what_is_needed():
    small = torch.rand(1, 3, 10, 64)
    with pytest.raises(ValueError, match="10 x 64 is too small: a window of 11 needs 11 pixels"):
        ssim_index(small, small)
    medium = torch.rand(1, 3, 175, 300)
    with pytest.raises(ValueError, match="at 5 sizes needs 176 pixels a side; pass fewer weights"):
        ms_ssim_index(medium, medium)
    assert ms_ssim_index(torch.ones(1, 1, 176, 176), torch.ones(1, 1, 176, 176)).item() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data_range": 0}, "white minus black"),
        ({"data_range": float("nan")}, "white minus black"),
        ({"window_size": 10}, "odd size"),
        ({"sigma": 0}, "sigma above 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options: dict[str, float], message: str):
    image = torch.rand(1, 1, 16, 16)
    with pytest.raises(ValueError, match=message):
        ssim_index(image, image, **options)


def test_what_is_no_batch_of_images_is_refused():
    with pytest.raises(ValueError, match=r"\(N, C, H, W\)"):
        ssim_index(torch.rand(3, 16, 16), torch.rand(3, 16, 16))
    with pytest.raises(TypeError, match="uint8"):
        ssim_index(*(torch.ones(1, 1, 16, 16, dtype=torch.uint8) for _ in range(2)))
    with pytest.raises(ValueError, match="weights is empty"):
        ms_ssim_index(torch.rand(1, 1, 16, 16), torch.rand(1, 1, 16, 16), weights=())


def test_the_modules_have_no_state_and_say_their_settings():
    assert not SSIMLoss().state_dict()
    assert repr(SSIMLoss(data_range=2)) == "SSIMLoss(data_range=2, window_size=11, sigma=1.5)"
    assert "sizes=5" in repr(MSSSIMLoss())


def test_torch_compile_takes_it_as_one_graph():
    torch.compiler.reset()
    prediction, target = (image.float() for image in waves(24, 24, 3))
    compiled = torch.compile(MSSSIMLoss(window_size=5, weights=TWO_SIZES), fullgraph=True, backend="eager")
    expected = 1 - ms_ssim_index(prediction, target, window_size=5, weights=TWO_SIZES).mean()
    torch.testing.assert_close(compiled(prediction, target), expected)


def test_the_device_is_never_waited_for():
    with NoWaiting():
        MSSSIMLoss(weights=TWO_SIZES)(*waves(24, 24))


def test_the_example_on_the_page_runs():
    assert run_example("ssim").startswith("tensor([0.")
