"""Data with few channels goes through a network with more, and the loss counts only what is there.

## What it does
`ChannelAdapter` puts a small layer before a network and one behind it: one channel is spread over the four
that the network wants, and the four that come out are brought back to one. Noise, loss and metric stay in
the data's own channels. A network that serves several kinds of data has one pair of layers for each. At the
start the pair does nothing: spreading and bringing back gives the input.

Where the data must be padded, `pad_channels` gives the mask together with the values, and
`masked_mean_loss` divides by the number of elements that are real. With `per_sample=True` it gives one loss
for each sample, so that a sample with four channels counts no more than a sample with one.

## The failure it prevents
Channels padded with zeros are trivial to predict, and they are counted. With one real channel in four the
loss shows a quarter of the error and its gradient is a quarter as large. In the diffusion prior that
Stethoscope learned from, two of three kinds of images were padded from one channel to four: half of all
elements were zeros, and the loss in the log was about half of the true one. A small copy of that training
logged .06 where the loss of the real channel was .20, and was 0.4 to 1.3 dB worse than one without padding.
Filling the channels with copies instead is worse where each copy gets noise of its own: the network
averages four observations and there is only one when it is used (-2.0 to -2.4 dB). The adapter spreads its
input after the noise was added, so all channels see the same noise.

The other failure is the sum: 4 x 128 x 128 elements with a loss of 1 add up to 65,536, which float16 cannot
hold. The mean is taken in float32.

## When not to use it
All data has as many channels as the network: use neither. Channels that are missing at random, or a fourth
channel that means something when it is zero, belong into the input with a mask that the network sees.

## Example

    import torch
    from torch import nn
    from stethoscope.blocks.channel_adapter import ChannelAdapter, masked_mean_loss, pad_channels

    network = nn.Conv2d(4, 4, 3, padding=1)
    model = ChannelAdapter(network, network_channels=4, data_channels={"photo": 4, "microscope": 1})
    tiles = torch.randn(8, 1, 16, 16)
    loss = (model(tiles, domain="microscope") - tiles).square().mean()

    padded = pad_channels(tiles, 4)
    loss = masked_mean_loss((network(padded.values) - padded.values).square(), padded.mask)

## References
- Stethoscope's clinic case `diffusion-prior`, which is padded and not masked
- Rebuffi, Bilen, Vedaldi: Learning multiple visual domains with residual adapters (NeurIPS 2017)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from stethoscope.blocks._precise import precise

__all__ = ["ChannelAdapter", "PaddedChannels", "masked_mean_loss", "pad_channels", "real_share"]

_ONLY = "only"  # the name of the one kind of data where no kinds are named


@dataclass(frozen=True, slots=True)
class PaddedChannels:
    """Values padded with zeros, and a mask that is true where a channel is real (B, C, 1, ...)."""

    values: Tensor
    mask: Tensor


def pad_channels(values: Tensor, channels: int) -> PaddedChannels:
    """Pad the second dimension with zeros to `channels`, and say which channels are real."""
    if values.dim() < 2:
        raise ValueError(f"pad_channels needs samples and channels (B, C, ...); got {tuple(values.shape)}.")
    present = values.shape[1]
    if present > channels:
        raise ValueError(f"the data has {present} channels, more than the {channels} to pad to.")
    zeros = values.new_zeros(values.shape[0], channels - present, *values.shape[2:])
    real = torch.arange(channels, device=values.device) < present
    shape = (1, channels, *(1 for _ in values.shape[2:]))
    mask = real.view(shape).expand(values.shape[0], *shape[1:])
    return PaddedChannels(torch.cat([values, zeros], dim=1), mask)


def masked_mean_loss(losses: Tensor, mask: Tensor, *, per_sample: bool = False) -> Tensor:
    """Average the losses of the elements whose mask is true, in float32; 0 where there are none.

    The mask may be smaller than the losses where it would broadcast. With `per_sample`, the result has one
    mean for each sample, and their mean weighs samples alike.
    """
    counted = _broadcast(mask, losses)
    # A padded element may be NaN: it is left out, since NaN times 0 is NaN.
    values = torch.where(counted, precise(losses), 0.0)
    dims = tuple(range(1, losses.dim())) if per_sample else tuple(range(losses.dim()))
    if not dims:
        return values
    return values.sum(dims) / counted.sum(dims).clamp(min=1)


def real_share(mask: Tensor) -> Tensor:
    """Say what share of the elements is real: by this factor a plain mean dilutes the loss."""
    return mask.to(torch.float32).mean()


class ChannelAdapter(nn.Module):
    """Lets a network of `network_channels` work on data that has another number of channels."""

    def __init__(
        self, network: nn.Module, network_channels: int, data_channels: int | Mapping[str, int]
    ) -> None:
        super().__init__()
        domains = {_ONLY: data_channels} if isinstance(data_channels, int) else dict(data_channels)
        for domain, channels in domains.items():
            if not 1 <= channels <= network_channels:
                raise ValueError(
                    f"{domain}: {channels} channels do not fit a network of {network_channels}; "
                    f"give a number from 1 to {network_channels}."
                )
        if not domains:
            raise ValueError("ChannelAdapter needs the channels of at least one kind of data; got none.")
        self.network = network
        self.stems = nn.ModuleDict({name: _spread(c, network_channels) for name, c in domains.items()})
        self.heads = nn.ModuleDict({name: _gather(network_channels, c) for name, c in domains.items()})

    def forward(self, x: Tensor, *conditions: object, domain: str | None = None, **named: object) -> Tensor:
        """Give the network's answer to `x` in the channels of `x`; the rest is handed to the network."""
        name = self._domain(domain)
        out: Tensor = self.heads[name](self.network(self.stems[name](x), *conditions, **named))
        return out

    def _domain(self, domain: str | None) -> str:
        names = list(self.stems)
        if domain is None and len(names) == 1:
            return names[0]
        if domain not in names:
            raise ValueError(f"domain={domain!r} is not known; pass one of: {', '.join(names)}.")
        return domain


class _ChannelMix(nn.Module):
    """A linear layer over the channels, the same at every position, for any number of dimensions."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(len(weight)))

    def forward(self, x: Tensor) -> Tensor:
        expected = self.weight.shape[1]
        if x.dim() < 2 or x.shape[1] != expected:
            raise ValueError(f"expected {expected} channels (B, {expected}, ...); got {tuple(x.shape)}.")
        mixed: Tensor = torch.einsum("oc,bc...->bo...", self.weight, x)
        return mixed + self.bias.to(mixed.dtype).view(-1, *(1 for _ in x.shape[2:]))


def _spread(data: int, network: int) -> _ChannelMix:
    return _ChannelMix(_copies(data, network))


def _gather(network: int, data: int) -> _ChannelMix:
    copies = _copies(data, network)
    return _ChannelMix((copies / copies.sum(0)).T.contiguous())


def _copies(data: int, network: int) -> Tensor:
    """One row per network channel, with a 1 at the data channel that it starts as a copy of."""
    return torch.eye(data)[torch.arange(network) % data]


def _broadcast(mask: Tensor, losses: Tensor) -> Tensor:
    if mask.dtype != torch.bool:
        raise ValueError(f"the mask must be boolean, true where an element counts; got {mask.dtype}.")
    try:
        return mask.expand_as(losses)
    except RuntimeError as error:
        shapes = f"{tuple(mask.shape)} against {tuple(losses.shape)}"
        raise ValueError(f"the mask does not broadcast to the losses: {shapes}.") from error
