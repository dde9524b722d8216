"""Magic Kernel up-sampling is the published one, at every scale and up to the corners."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from stethoscope.blocks.magic_kernel import MagicUpsample, magic_kernel, magic_kernel_sharp, magic_upsample
from tests.blocks.docstring_example import run_example
from tests.blocks.no_waiting import NoWaiting

Array = NDArray[np.float64]
HALVES = [torch.float16, torch.bfloat16]


def published(x: Array) -> Array:
    """The Magic Kernel, piece by piece as it was published."""
    x = np.abs(x)
    return np.select([x <= 0.5, x < 1.5], [0.75 - x**2, 0.5 * (x - 1.5) ** 2], 0.0)


def published_sharp(x: Array) -> Array:
    """Magic Kernel Sharp 2021, piece by piece as it was published."""
    x = np.abs(x)
    pieces = [
        577 / 576 - 239 / 144 * x**2,
        (140 * x**2 - 379 * x + 239) / 144,
        -(24 * x**2 - 113 * x + 130) / 144,
        (4 * x**2 - 27 * x + 45) / 144,
        -((2 * x - 9) ** 2) / 1152,
    ]
    return np.select([x <= 0.5, x <= 1.5, x <= 2.5, x <= 3.5, x <= 4.5], pieces, 0.0)


def by_numpy(image: Array, scale: int, sharp: bool) -> Array:
    """Every output pixel as a sum over all input pixels, the border repeated."""
    kernel = published_sharp if sharp else published
    matrices = []
    for size in image.shape:
        matrix = np.zeros((size * scale, size))
        for row in range(size * scale):
            centre = (row + 0.5) / scale - 0.5
            for neighbour in range(-5, size + 5):
                matrix[row, min(max(neighbour, 0), size - 1)] += kernel(np.float64(centre - neighbour))
        matrices.append(matrix)
    return matrices[0] @ image @ matrices[1].T


def noise(*shape: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_both_kernels_are_the_published_ones():
    x = np.linspace(-6, 6, 4801)
    np.testing.assert_allclose([magic_kernel(v) for v in x], published(x), atol=1e-12)
    np.testing.assert_allclose([magic_kernel_sharp(v) for v in x], published_sharp(x), atol=1e-12)


@pytest.mark.parametrize("kernel", [magic_kernel, magic_kernel_sharp])
def test_the_weights_add_up_to_one_at_every_place(kernel):
    for place in np.linspace(-0.5, 0.5, 101):
        assert sum(kernel(place - neighbour) for neighbour in range(-5, 6)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("sharp", [True, False])
@pytest.mark.parametrize("scale", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", [(6, 7), (1, 1), (2, 11)])
def test_it_is_the_sum_that_numpy_gives_up_to_the_corners(shape: tuple[int, int], scale: int, sharp: bool):
    image = noise(2, 3, *shape)
    found = magic_upsample(image, scale, sharp=sharp)
    assert found.shape == (2, 3, shape[0] * scale, shape[1] * scale)
    for one, enlarged in zip(image.flatten(0, 1), found.flatten(0, 1), strict=True):
        np.testing.assert_allclose(enlarged, by_numpy(one.numpy(), scale, sharp), atol=1e-12)


# Pillow 13.0.0: Image.fromarray(image).resize((12 * scale, 12 * scale), Image.Resampling.MKS2021), a few
# pixels in the middle, where its own treatment of borders does not reach.
@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (2, [0.6444139, 0.72792584, 0.7807731, 0.79138917]),
        (3, [0.6290646, 0.6917877, 0.74160254, 0.7776431, 0.7947139, 0.791949]),
    ],
)
def test_it_gives_what_pillow_gives(scale: int, expected: list[float]):
    y, x = np.mgrid[0:12, 0:12].astype(np.float64)
    image = torch.from_numpy(0.5 + 0.3 * np.sin(x / 1.3) * np.cos(y / 1.7)).float()[None, None]
    row = magic_upsample(image, scale)[0, 0, 6 * scale, 5 * scale : 7 * scale]
    assert row.tolist() == pytest.approx(expected, abs=1e-6)


def test_the_weights_for_two_are_those_of_the_bump_at_a_quarter():
    impulse = torch.zeros(1, 1, 1, 7, dtype=torch.float64)
    impulse[..., 3] = 32
    row = magic_upsample(impulse, 2, sharp=False)[0, 0, 0]
    assert row.tolist() == [0, 0, 0, 0, 1, 9, 22, 22, 9, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
@pytest.mark.parametrize("scale", [2, 3, 5])
def test_a_flat_image_stays_flat_up_to_the_corners(scale: int, dtype: torch.dtype):
    for sharp in (True, False):
        enlarged = magic_upsample(torch.full((1, 2, 5, 4), 0.75, dtype=dtype), scale, sharp=sharp)
        assert enlarged.sub(0.75).abs().max() < 1e-6


@pytest.mark.parametrize("dtype", HALVES)
def test_half_images_are_summed_in_float32_and_keep_their_type(dtype: torch.dtype):
    image = noise(1, 3, 6, 6).to(dtype)
    exact = magic_upsample(image.double(), 3)
    with torch.autocast("cpu", dtype=dtype):
        enlarged = magic_upsample(image, 3)
    assert enlarged.dtype == dtype
    # One rounding, of half a step.
    torch.testing.assert_close(enlarged.double(), exact, rtol=torch.finfo(dtype).eps / 2, atol=1e-6)


def test_a_sharp_edge_overshoots_by_a_tenth():
    step = torch.zeros(1, 1, 24, 24)
    step[..., 12:] = 1
    assert magic_upsample(step, 4).max().item() == pytest.approx(1.104, abs=1e-3)
    assert magic_upsample(step, 4, sharp=False).max().item() == 1


def test_it_follows_a_wave_better_than_bicubic():
    def wave(scale: int) -> Tensor:
        t = (torch.arange(48 * scale) + 0.5) / scale - 0.5
        rows, columns = torch.sin(2 * torch.pi * t / 8), torch.cos(0.8 * 2 * torch.pi * t / 8)
        return (0.5 + 0.4 * rows[:, None] * columns[None])[None, None]

    def psnr(image: Tensor) -> float:
        return -10 * (image - wave(2)).square().mean().log10().item()

    assert psnr(magic_upsample(wave(1), 2)) == pytest.approx(43.1, abs=0.1)  # the figures on the page
    bicubic = torch.nn.functional.interpolate(wave(1), scale_factor=2, mode="bicubic")
    assert psnr(bicubic) == pytest.approx(39.3, abs=0.1)


def test_the_gradient_and_its_gradient_are_right():
    image = noise(1, 1, 2, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: magic_upsample(x, 2), image)
    assert torch.autograd.gradgradcheck(lambda x: magic_upsample(x, 2).square(), image, fast_mode=True)


@pytest.mark.parametrize("scale", [0, -2, 1.5, "2"])
def test_a_scale_that_is_no_whole_number_is_refused(scale):
    with pytest.raises(ValueError, match="whole number of at least 1"):
        magic_upsample(torch.ones(1, 1, 4, 4), scale)
    with pytest.raises(ValueError, match="whole number of at least 1"):
        MagicUpsample(scale)


def test_what_is_no_image_is_refused():
    with pytest.raises(ValueError, match=r"\(N, C, H, W\)"):
        magic_upsample(torch.ones(3, 4, 4), 2)
    with pytest.raises(ValueError, match="images with pixels"):
        magic_upsample(torch.ones(1, 3, 0, 4), 2)
    with pytest.raises(TypeError, match="uint8"):
        magic_upsample(torch.ones(1, 3, 4, 4, dtype=torch.uint8), 2)


def test_an_empty_batch_stays_empty():
    assert magic_upsample(torch.ones(0, 3, 4, 4), 2).shape == (0, 3, 8, 8)


def test_the_module_gives_the_same_has_no_state_and_survives_half():
    image = noise(1, 3, 4, 4).float()
    module = MagicUpsample(2, sharp=False)
    assert torch.equal(module(image), magic_upsample(image, 2, sharp=False))
    assert not module.state_dict()
    assert not list(module.parameters())
    assert torch.equal(module.half()(image), magic_upsample(image, 2, sharp=False))
    assert repr(module) == "MagicUpsample(scale=2, sharp=False)"


def test_torch_compile_takes_it_as_one_graph():
    torch.compiler.reset()
    image = noise(1, 3, 4, 4).half()
    compiled = torch.compile(MagicUpsample(3), fullgraph=True, backend="eager")
    assert torch.equal(compiled(image), magic_upsample(image, 3))


def test_the_device_is_never_waited_for():
    with NoWaiting():
        magic_upsample(noise(1, 1, 4, 4), 2)


def test_the_example_on_the_page_runs():
    assert run_example("magic_kernel").startswith("torch.Size([1, 3, 32, 32]) tensor(")
