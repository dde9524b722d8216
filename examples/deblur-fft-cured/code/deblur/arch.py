"""The network: blocks that attend and mix in the frequency domain of small patches.

Shapes are BCHW; height and width are multiples of the patch size.
"""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn


class LayerNorm(nn.Module):
    """Normalises the channels of every pixel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels, 1, 1))
        self.bias = nn.Parameter(torch.zeros(channels, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Give every pixel's channels mean 0 and variance 1, then the learned scale and shift."""
        x = x.float()
        mean = x.mean(dim=1, keepdim=True)
        variance = x.var(dim=1, keepdim=True, unbiased=False)
        return (x - mean) / torch.sqrt(variance + 1e-5) * self.weight + self.bias


class DFFN(nn.Module):
    """A feed-forward network that weighs the frequencies of each patch, then gates."""

    def __init__(self, dim: int, expansion: int, patch_size: int) -> None:
        super().__init__()
        hidden = dim * expansion
        self.patch_size = patch_size
        self.project_in = nn.Conv2d(dim, 2 * hidden, 1)
        self.frequencies = nn.Parameter(torch.ones(2 * hidden, 1, 1, patch_size, patch_size // 2 + 1))
        self.dwconv = nn.Conv2d(2 * hidden, 2 * hidden, 3, padding=1, groups=2 * hidden)
        self.project_out = nn.Conv2d(hidden, dim, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Mix the channels of `x`."""
        x = self.project_in(x)
        x_patch = to_patches(x, self.patch_size)
        x_patch_fft = torch.fft.rfft2(x_patch.float())
        x_patch_fft = x_patch_fft * self.frequencies
        x_patch = torch.fft.irfft2(x_patch_fft, s=(self.patch_size, self.patch_size))
        x1, x2 = self.dwconv(from_patches(x_patch)).chunk(2, dim=1)
        x = F.gelu(x1) * x2
        mixed: Tensor = self.project_out(x)
        return mixed


class FSAS(nn.Module):
    """Self-attention by the correlation of queries and keys, computed as a product of spectra."""

    def __init__(self, dim: int, patch_size: int) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.to_hidden = nn.Conv2d(dim, 3 * dim, 1)
        self.to_hidden_dw = nn.Conv2d(3 * dim, 3 * dim, 3, padding=1, groups=3 * dim)
        self.norm = LayerNorm(dim)
        self.project_out = nn.Conv2d(dim, dim, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Weigh the values of `x` by how well they match."""
        q, k, v = self.to_hidden_dw(self.to_hidden(x)).chunk(3, dim=1)
        q_fft = torch.fft.rfft2(to_patches(q, self.patch_size).float())
        k_fft = torch.fft.rfft2(to_patches(k, self.patch_size).float())
        matches = torch.fft.irfft2(q_fft * k_fft, s=(self.patch_size, self.patch_size))
        attended: Tensor = self.project_out(v * self.norm(from_patches(matches)))
        return attended


class TransformerBlock(nn.Module):
    """Attention, then the feed-forward network, each added to its input."""

    def __init__(self, dim: int, expansion: int, patch_size: int) -> None:
        super().__init__()
        self.norm1 = LayerNorm(dim)
        self.attention = FSAS(dim, patch_size)
        self.norm2 = LayerNorm(dim)
        self.ffn = DFFN(dim, expansion, patch_size)

    def forward(self, x: Tensor) -> Tensor:
        """Refine `x`."""
        x = torch.add(x, self.attention(self.norm1(x)))
        return torch.add(x, self.ffn(self.norm2(x)))


class FFTMini(nn.Module):
    """Predicts what to add to a blurred image."""

    def __init__(self, dim: int, num_blocks: int, ffn_expansion: int, patch_size: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(3, dim, 3, padding=1)
        self.blocks = nn.Sequential(
            *(TransformerBlock(dim, ffn_expansion, patch_size) for _ in range(num_blocks))
        )
        self.leave = nn.Conv2d(dim, 3, 3, padding=1)

    def forward(self, blur_image: Tensor) -> dict[str, Tensor]:
        """Return the sharp image under the name that its loss has."""
        return {"sharp_image": blur_image + self.leave(self.blocks(self.enter(blur_image)))}


def to_patches(x: Tensor, size: int) -> Tensor:
    """Cut BCHW into square patches: B, C, rows, columns, size, size."""
    b, c, h, w = x.shape
    return x.view(b, c, h // size, size, w // size, size).transpose(3, 4)


def from_patches(patches: Tensor) -> Tensor:
    """Undo `to_patches`."""
    b, c, rows, columns, height, width = patches.shape
    return patches.transpose(3, 4).reshape(b, c, rows * height, columns * width)
