import torch
import torch.nn as nn


class SpectralConv1d(nn.Module):
    def __init__(self, width, modes):
        super().__init__()
        self.modes = modes
        scale = 1 / (width * width)
        self.weight = nn.Parameter(scale * torch.rand(width, width, modes, 2))

    def forward(self, x):
        coeff = torch.fft.rfft(x, dim=-1) #@
        out = torch.zeros_like(coeff)
        w = torch.view_as_complex(self.weight)
        out[..., : self.modes] = torch.einsum("bix,iox->box", coeff[..., : self.modes].to(w.dtype), w).to(out.dtype)
        return torch.fft.irfft(out, n=x.size(-1)) #@


class FNO1d(nn.Module):
    def __init__(self, width=64, modes=16):
        super().__init__()
        self.lift = nn.Conv1d(1, width, 1)
        self.spectral = SpectralConv1d(width, modes)
        self.skip = nn.Conv1d(width, width, 1)
        self.proj = nn.Conv1d(width, 1, 1)

    def forward(self, x):
        h = self.lift(x)
        return self.proj(torch.relu(self.spectral(h) + self.skip(h))) #@
