"""Fewer channels than the network has: the loss is that of the data, and padding is seen for what it is."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
import torch
from torch import nn

from stethoscope.blocks import channel_adapter
from stethoscope.blocks.channel_adapter import ChannelAdapter, masked_mean_loss, pad_channels, real_share
from stethoscope.blocks.edm import Preconditioned, denoising_loss

HALVES = [torch.float16, torch.bfloat16]


def tiles(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def test_padding_keeps_the_data_and_says_which_channels_are_real():
    data = tiles(3, 1, 5, 6)
    padded = pad_channels(data, 4)
    assert padded.values.shape == (3, 4, 5, 6)
    assert torch.equal(padded.values[:, :1], data)
    assert not padded.values[:, 1:].any()
    assert padded.mask.shape == (3, 4, 1, 1)
    assert padded.mask[:, 0].all()
    assert not padded.mask[:, 1:].any()
    assert real_share(padded.mask).item() == 0.25


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 7), (2, 3, 2, 2, 2)])
def test_data_of_any_number_of_dimensions_is_padded(shape: tuple[int, ...]):
    padded = pad_channels(tiles(*shape), 5)
    assert padded.values.shape == (2, 5, *shape[2:])
    assert torch.equal(padded.mask.expand_as(padded.values)[:, 3:], torch.zeros(2, 2, *shape[2:]).bool())


def test_the_masked_loss_is_that_of_the_data_alone():
    answer, target = tiles(8, 4, 6, 6), pad_channels(tiles(8, 1, 6, 6), 4)
    native = np.square(answer[:, :1].numpy().astype(np.float64) - target.values[:, :1].numpy()).mean()
    masked = masked_mean_loss((answer - target.values).square(), target.mask)
    assert masked.item() == pytest.approx(native, rel=1e-6)


def test_zero_padding_dilutes_loss_and_gradient_by_the_share_of_real_elements():
    weight = torch.tensor(0.5, requires_grad=True)
    data = pad_channels(tiles(8, 1, 6, 6), 4)
    # A denoiser that has learned the padding, as every one does at once: it answers zero there.
    squared = (weight * data.values - data.values).square()
    (masked,) = torch.autograd.grad(masked_mean_loss(squared, data.mask), weight, retain_graph=True)
    (diluted,) = torch.autograd.grad(squared.mean(), weight)
    assert squared.mean().item() == pytest.approx(
        0.25 * masked_mean_loss(squared, data.mask).item(), rel=1e-5
    )
    assert diluted.item() == pytest.approx(0.25 * masked.item(), rel=1e-5)


def test_a_mixed_batch_is_averaged_over_elements_or_over_samples():
    losses = torch.tensor([[8.0, 0, 0, 0], [1.0, 1, 1, 1]])
    mask = torch.tensor([[True, False, False, False], [True, True, True, True]])
    assert masked_mean_loss(losses, mask).item() == pytest.approx(12 / 5)
    assert masked_mean_loss(losses, mask, per_sample=True).tolist() == [8.0, 1.0]


def test_nan_in_a_padded_channel_reaches_neither_loss_nor_gradient():
    losses = torch.tensor([[2.0, float("nan")]], requires_grad=True)
    loss = masked_mean_loss(losses, torch.tensor([True, False]))
    loss.backward()
    assert loss.item() == 2
    assert losses.grad is not None
    assert losses.grad.tolist() == [[1.0, 0.0]]


def test_where_nothing_counts_the_loss_is_zero():
    assert masked_mean_loss(torch.ones(2, 3), torch.zeros(2, 3).bool()).item() == 0
    assert masked_mean_loss(torch.ones(2, 3), torch.zeros(2, 3).bool(), per_sample=True).tolist() == [0, 0]


@pytest.mark.parametrize("dtype", HALVES)
def test_the_mean_of_half_precision_losses_does_not_overflow(dtype: torch.dtype):
    # 65,536 ones and as many that do not count: their sum is beyond float16.
    losses = torch.ones(1, 8, 128, 128, dtype=dtype)
    mean = masked_mean_loss(losses, (torch.arange(8) < 4).view(8, 1, 1))
    assert mean.dtype == torch.float32
    assert mean.item() == 1


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_an_adapter_starts_by_changing_nothing(channels: int):
    data = tiles(2, channels, 5, 5)
    assert torch.allclose(ChannelAdapter(nn.Identity(), 4, channels)(data), data, atol=1e-6)


def test_the_network_sees_its_channels_with_the_same_noise_in_each():
    seen = []

    class Watching(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen.append(x)
            return x

    data = tiles(2, 1, 5, 5)
    ChannelAdapter(Watching(), 4, 1)(data)
    assert torch.equal(seen[0], data.expand(2, 4, 5, 5))


def test_each_domain_learns_layers_of_its_own_and_shares_the_network():
    adapter = ChannelAdapter(nn.Conv2d(4, 4, 1), 4, {"photo": 4, "microscope": 1})
    adapter(tiles(2, 1, 3, 3), domain="microscope").square().mean().backward()
    learned = {name for name, p in adapter.named_parameters() if p.grad is not None}
    assert learned == {
        "network.weight",
        "network.bias",
        *(f"{end}.microscope.{part}" for end in ("stems", "heads") for part in ("weight", "bias")),
    }
    assert adapter(tiles(2, 4, 3, 3), domain="photo").shape == (2, 4, 3, 3)


def test_an_adapter_inside_a_denoiser_trains_on_the_channels_of_the_data():
    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Conv2d(4, 4, 1)

        def forward(self, x: torch.Tensor, c_noise: torch.Tensor) -> torch.Tensor:
            answer: torch.Tensor = self.layer(x) + c_noise.view(-1, 1, 1, 1)
            return answer

    model = Preconditioned(ChannelAdapter(Network(), 4, {"photo": 4, "microscope": 1}))
    losses = denoising_loss(model, tiles(5, 1, 4, 4), torch.ones(5), domain="microscope")
    assert losses.shape == (5,)
    assert losses.isfinite().all()


@pytest.mark.parametrize("dtype", HALVES)
def test_an_adapter_works_in_half_precision_and_under_autocast(dtype: torch.dtype):
    data = tiles(2, 1, 5, 5)
    whole = ChannelAdapter(nn.Conv2d(4, 4, 1), 4, 1)
    expected = whole(data)
    with torch.autocast("cpu", dtype=dtype):
        assert torch.allclose(whole(data).float(), expected, atol=0.03)
    half = whole.to(dtype)
    assert half(data.to(dtype)).dtype == dtype
    assert torch.allclose(half(data.to(dtype)).float(), expected, atol=0.03)


def test_a_state_dict_gives_the_same_adapter_again():
    first = ChannelAdapter(nn.Conv2d(4, 4, 1), 4, {"a": 1, "b": 3})
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.copy_(torch.randn_like(parameter))
    second = ChannelAdapter(nn.Conv2d(4, 4, 1), 4, {"a": 1, "b": 3})
    second.load_state_dict(first.state_dict())
    data = tiles(2, 3, 4, 4)
    assert torch.equal(first(data, domain="b"), second(data, domain="b"))


def test_padding_loss_and_adapter_can_be_compiled():
    adapter = ChannelAdapter(nn.Conv2d(4, 4, 1), 4, 1)

    def step(data: torch.Tensor) -> torch.Tensor:
        padded = pad_channels(data, 4)
        return masked_mean_loss((padded.values - adapter(data)).square(), padded.mask, per_sample=True)

    data = tiles(2, 1, 5, 5)
    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(data), step(data), atol=1e-6)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="has 5 channels, more than the 4"):
        pad_channels(tiles(2, 5, 3, 3), 4)
    with pytest.raises(ValueError, match=r"needs samples and channels \(B, C, ...\); got \(3,\)"):
        pad_channels(tiles(3), 4)
    with pytest.raises(ValueError, match="mask must be boolean"):
        masked_mean_loss(torch.ones(2), torch.ones(2))
    with pytest.raises(ValueError, match=r"does not broadcast to the losses: \(3,\) against \(2, 2\)"):
        masked_mean_loss(torch.ones(2, 2), torch.ones(3).bool())
    with pytest.raises(ValueError, match="photo: 5 channels do not fit a network of 4"):
        ChannelAdapter(nn.Identity(), 4, {"photo": 5})
    with pytest.raises(ValueError, match="at least one kind of data"):
        ChannelAdapter(nn.Identity(), 4, {})
    two = ChannelAdapter(nn.Identity(), 4, {"photo": 4, "microscope": 1})
    with pytest.raises(ValueError, match="domain=None is not known; pass one of: photo, microscope"):
        two(tiles(2, 4, 3, 3))
    with pytest.raises(ValueError, match=r"expected 1 channels .* got \(2, 4, 3, 3\)"):
        two(tiles(2, 4, 3, 3), domain="microscope")


def test_the_example_of_the_page_runs():
    assert channel_adapter.__doc__ is not None
    example = channel_adapter.__doc__.split("## Example\n")[1].split("\n## ")[0]
    names: dict[str, torch.Tensor] = {}
    exec(textwrap.dedent(example), names)
    assert names["loss"].isfinite()
