import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SpectralConv(nn.Module):
    def __init__(self, width, modes):
        super().__init__()
        self.modes = modes
        self.weight = nn.Parameter(torch.randn(width, width, modes, 2) / width)

    def forward(self, x):
        with torch.autocast(x.device.type, enabled=False):
            spec = torch.fft.rfft(x.float(), norm="ortho")
            kept = torch.einsum("bim,iom->bom", spec[..., : self.modes],
                                torch.view_as_complex(self.weight.float()))
            out = torch.zeros_like(spec)
            out[..., : self.modes] = kept
            return torch.fft.irfft(out, n=x.shape[-1], norm="ortho")


class FNO1d(nn.Module):
    def __init__(self, width=48, modes=16):
        super().__init__()
        self.lift = nn.Conv1d(2, width, 1)
        self.spectral = nn.ModuleList(SpectralConv(width, modes) for _ in range(4))
        self.local = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(4))
        self.drop = nn.Conv1d(width, 1, 1)

    def forward(self, x):
        x = self.lift(x)
        for s, c in zip(self.spectral, self.local):
            x = F.gelu(s(x) + c(x))
        return self.drop(x)


def main():
    set_seed(3)
    accelerator = Accelerator(mixed_precision="fp16")
    model = FNO1d()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train = DataLoader(TensorDataset(*torch.load("burgers_train.pt")), 32, shuffle=True)
    test = DataLoader(TensorDataset(*torch.load("burgers_test.pt")), 64)
    model, optimizer, train, test = accelerator.prepare(model, optimizer, train, test)
    for epoch in range(100):
        model.train()
        for a, u in train:
            optimizer.zero_grad()
            accelerator.backward(F.mse_loss(model(a), u))
            optimizer.step()
        model.eval()
        with torch.no_grad():
            errors = [accelerator.gather_for_metrics(((model(a) - u) ** 2).mean((1, 2))) for a, u in test]
        accelerator.print(epoch, torch.cat(errors).mean().sqrt().item())


if __name__ == "__main__":
    main()
