"""The nano network: a fixed upsampling base plus a small learned branch for the detail.

Shapes are BCHW. The blocks and the attention start as identities and fade in as they learn.
"""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

SHARPEN = (-1, 0, 9, 16, 9, 0, -1)
BLUR = (1, 4, 6, 4, 1)


class MagicKernelUpsample(nn.Module):
    """Enlarge with fixed kernels: a blended sharpening, nearest neighbour, a binomial blur."""

    sharpen: Tensor
    blur: Tensor

    def __init__(self, scale: int, alpha: float) -> None:
        super().__init__()
        self.scale = scale
        self.alpha = alpha
        self.register_buffer("sharpen", _unit_sum(SHARPEN), persistent=False)
        self.register_buffer("blur", _unit_sum(BLUR), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` enlarged, in the precision of `x`."""
        # The base carries the whole image; half precision would band smooth skies.
        with torch.autocast(x.device.type, enabled=False):
            x = torch.lerp(x, _separable(x, self.sharpen), self.alpha)
            x = F.interpolate(x, scale_factor=self.scale, mode="nearest")
            return _separable(x, self.blur)


class InceptionDWConv(nn.Module):
    """Depthwise convolutions of three shapes, each on its own share of the channels."""

    def __init__(self, channels: int, square: int = 3, band: int = 7) -> None:
        super().__init__()
        share = channels // 4
        self.split = [channels - 3 * share, share, share, share]
        self.square = nn.Conv2d(share, share, square, padding=square // 2, groups=share)
        self.wide = nn.Conv2d(share, share, (1, band), padding=(0, band // 2), groups=share)
        self.tall = nn.Conv2d(share, share, (band, 1), padding=(band // 2, 0), groups=share)

    def forward(self, x: Tensor) -> Tensor:
        """Mix each share of `x` over its own neighbourhood; the first share passes through."""
        same, square, wide, tall = torch.split(x, self.split, dim=1)
        return torch.cat((same, self.square(square), self.wide(wide), self.tall(tall)), dim=1)


class LayerScale(nn.Module):
    """One learned factor per channel, close to zero at first."""

    def __init__(self, channels: int, init: float = 1e-5) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.full((channels, 1, 1), init))

    def forward(self, x: Tensor) -> Tensor:
        """Scale the channels of `x`."""
        return x * self.gamma


class LocalWindowAttention(nn.Module):
    """Self-attention inside square windows, added to the input with a weight that starts at zero."""

    def __init__(self, channels: int, reduced: int = 4, window: int = 8) -> None:
        super().__init__()
        self.window = window
        self.reduced = reduced
        self.to_qkv = nn.Conv2d(channels, 3 * reduced, 1)
        self.project = nn.Conv2d(reduced, channels, 1)
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` plus what each pixel gathers from its window."""
        height, width = x.shape[-2:]
        qkv = self.to_qkv(x)
        qkv = F.pad(qkv, (0, -width % self.window, 0, -height % self.window))
        query, key, value = _to_windows(qkv, self.window).chunk(3, dim=-1)
        weights = torch.softmax(query @ key.transpose(-1, -2) / self.reduced**0.5, dim=-1)
        gathered = _from_windows(weights @ value, self.window, qkv.shape)
        update: Tensor = self.project(gathered[..., :height, :width])
        return x + self.gamma * update


class NanoBlock(nn.Module):
    """Mix in space, then in channels; both as scaled residuals."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        hidden = channels * 6 // 5
        self.spatial = InceptionDWConv(channels)
        self.scale_spatial = LayerScale(channels)
        self.mixer = nn.Sequential(
            nn.Conv2d(channels, hidden, 1),
            nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden),
            nn.LeakyReLU(0.1),
            nn.Conv2d(hidden, channels, 1),
            LocalWindowAttention(channels),
        )
        self.scale_mixer = LayerScale(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Refine the features `x`."""
        x = x + self.scale_spatial(self.spatial(x))
        mixed: Tensor = self.scale_mixer(self.mixer(x))
        return x + mixed


class DetailGain(nn.Module):
    """How much detail an image can take: less where the content is busy already."""

    def __init__(self, low: float = 0.05, span: float = 0.15) -> None:
        super().__init__()
        self.low = low
        self.span = span
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(4, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Return one gain per image, shaped B111."""
        complexity = torch.sigmoid(self.features(x).mean(dim=(1, 2, 3), keepdim=True))
        return self.low + self.span * (1 - complexity)


class NanoSR(nn.Module):
    """Enlarge RGB images in [0, 1] by `scale`."""

    def __init__(self, scale: int, num_feat: int = 12, num_blocks: int = 1, alpha: float = 0.4) -> None:
        super().__init__()
        fine = 2 * num_feat // 3
        self.base = MagicKernelUpsample(scale, alpha)
        self.gain = DetailGain()
        self.conv_in = nn.Conv2d(3, num_feat, 3, padding=1)
        self.blocks = nn.Sequential(*(NanoBlock(num_feat) for _ in range(num_blocks)))
        self.conv_body = nn.Conv2d(num_feat, num_feat, 3, padding=1)
        self.conv_up = nn.Conv2d(num_feat, fine * scale**2, 3, padding=1)
        self.shuffle = nn.PixelShuffle(scale)
        self.conv_out = nn.Conv2d(fine, 3, 3, padding=1)
        for conv in (self.conv_in, self.conv_body, self.conv_up, self.conv_out):
            nn.init.kaiming_normal_(conv.weight, a=0.1)
            nn.init.zeros_(conv.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        """Return base plus detail."""
        features = self.conv_in(x)
        features = features + self.conv_body(self.blocks(features))
        features = F.leaky_relu(self.conv_up(features), 0.1)
        detail: Tensor = self.conv_out(self.shuffle(features))
        base: Tensor = self.base(x)
        gain: Tensor = self.gain(x)
        return base + detail * gain


def _unit_sum(taps: tuple[int, ...]) -> Tensor:
    kernel = torch.tensor(taps, dtype=torch.float32)
    return kernel / kernel.sum()


def _separable(x: Tensor, kernel: Tensor) -> Tensor:
    channels, taps = x.shape[1], kernel.numel()
    pad = taps // 2
    weight = kernel.expand(channels, 1, taps)
    x = F.pad(x, (pad, pad, pad, pad), mode="replicate")
    x = F.conv2d(x, weight.unsqueeze(2), groups=channels)
    return F.conv2d(x, weight.unsqueeze(3), groups=channels)


def _to_windows(x: Tensor, size: int) -> Tensor:
    batch, channels, height, width = x.shape
    x = x.view(batch, channels, height // size, size, width // size, size)
    return x.permute(0, 2, 4, 3, 5, 1).reshape(-1, size * size, channels)


def _from_windows(x: Tensor, size: int, shape: torch.Size) -> Tensor:
    batch, _, height, width = shape
    x = x.view(batch, height // size, width // size, size, size, x.shape[-1])
    return x.permute(0, 5, 1, 3, 2, 4).reshape(batch, -1, height, width)
