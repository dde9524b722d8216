import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class TwoStream(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.content = nn.Sequential(nn.Linear(40, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.style = nn.Sequential(nn.Linear(40, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.decoder = nn.Linear(2 * dim, 40)

    def forward(self, x):
        c, s = self.content(x), self.style(x)
        return self.decoder(torch.cat([c, s], dim=1)), c, s


def disentangle_penalty(content, style):
    return F.cosine_similarity(content, style, dim=1).pow(2).mean()


model = TwoStream()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(5000, 40)), batch_size=100, shuffle=True)
for epoch in range(30):
    model.train()
    for (x,) in loader:
        recon, content, style = model(x)
        loss = F.mse_loss(recon, x) + 0.1 * disentangle_penalty(content, style)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
