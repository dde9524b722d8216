from __future__ import annotations

import numpy as np
import pytest
import torch

from stethoscope.figures.chart import NOT_FINITE, Band, Image, Line


def test_sequences_arrays_and_tensors_give_the_same_line() -> None:
    lines = [
        Line("loss", [0, 1, 2], (3, 2, 1)),
        Line("loss", np.arange(3), np.array([3, 2, 1], np.float32)),
        Line("loss", torch.arange(3), torch.tensor([3.0, 2.0, 1.0])),
        Line(
            "loss", torch.arange(3), torch.tensor([3.0, 2.0, 1.0], dtype=torch.bfloat16, requires_grad=True)
        ),
        Line("loss", range(3), [3.0, 2.0, 1.0]),
    ]
    assert all(line.x.tolist() == [0.0, 1.0, 2.0] and line.y.tolist() == [3.0, 2.0, 1.0] for line in lines)


def test_a_line_keeps_its_values_when_the_array_it_was_made_from_changes() -> None:
    values = np.ones(3)
    line = Line("loss", np.arange(3), values)
    values[:] = 7
    assert line.y.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        line.y[0] = 2


def test_columns_of_different_length_are_refused_with_their_lengths() -> None:
    with pytest.raises(ValueError, match=r"'loss': .* 2 of x, 3 of y"):
        Line("loss", [0, 1], [1, 2, 3])
    with pytest.raises(ValueError, match=r"2 of x, 2 of low, 1 of high"):
        Band("spread", [0, 1], [0, 1], [2])


def test_a_table_is_not_a_line() -> None:
    with pytest.raises(ValueError, match=r"y has the shape \(2, 2\)"):
        Line("loss", [0, 1], np.eye(2))


def test_numbers_become_pixels_between_black_and_white() -> None:
    image = Image("", [[-1.0, 0.0], [1.0, 9.0]], black=-1, white=1)
    assert image.pixels[:, :, 0].tolist() == [[0, 128], [255, 255]]
    assert image.pixels.shape == (2, 2, 3)


def test_bytes_and_rgb_stay_as_they_are() -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert Image("", pixels).pixels.tolist() == pixels.tolist()


def test_a_pixel_that_is_not_finite_stands_out() -> None:
    image = Image("", [[0.5, np.nan], [np.inf, 0.5]])
    assert tuple(image.pixels[0, 1]) == tuple(image.pixels[1, 0]) == NOT_FINITE
    assert tuple(image.pixels[0, 0]) == (128, 128, 128)


@pytest.mark.parametrize("shape", [(3,), (2, 2, 4), (0, 3), (2, 2, 3, 1)])
def test_what_is_no_image_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="give rows by columns"):
        Image("", np.zeros(shape))
