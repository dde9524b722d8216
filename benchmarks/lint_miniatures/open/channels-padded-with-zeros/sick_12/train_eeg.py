import torch
from torch import nn
from torch.utils.data import DataLoader

MAX_CH = 64


def pad_collate(batch):
    out = torch.zeros(len(batch), MAX_CH, 512) #@
    for i, rec in enumerate(batch):
        out[i, : rec.shape[0]] = rec #@
    mean = out.mean(dim=(1, 2), keepdim=True) #@
    std = out.std(dim=(1, 2), keepdim=True) #@
    return (out - mean) / (std + 1e-6) #@


class MaskedEEG(nn.Module):
    def __init__(self, dim=256):
        super().__init__()
        self.enc = nn.Conv1d(MAX_CH, dim, 9, padding=4)
        self.dec = nn.Conv1d(dim, MAX_CH, 9, padding=4)

    def forward(self, x):
        keep = (torch.rand(x.shape[0], 1, x.shape[2], device=x.device) > 0.3).float()
        return self.dec(torch.relu(self.enc(x * keep))), 1 - keep


def train(recordings, epochs=30):
    loader = DataLoader(recordings, batch_size=32, shuffle=True, collate_fn=pad_collate) #@
    model = MaskedEEG()
    opt = torch.optim.Adam(model.parameters(), lr=5e-4)
    model.train()
    for epoch in range(epochs):
        for x in loader:
            pred, hidden = model(x)
            loss = ((pred - x) ** 2 * hidden).sum() / (hidden.sum() * MAX_CH) #@
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    train([torch.randn(int(c), 512) for c in torch.randint(19, 65, (2000,))])
