import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SparseAE(nn.Module):
    def __init__(self, d=256, k=2048):
        super().__init__()
        self.enc = nn.Linear(d, k)
        self.dec = nn.Linear(k, d)

    def forward(self, x):
        z = F.relu(self.enc(x))
        return self.dec(z), z


model = SparseAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-4)
loader = DataLoader(TensorDataset(torch.randn(20000, 256)), batch_size=200, shuffle=True)
weights = {"mse": 1.0, "l1": 1e-3}
model.train()
for epoch in range(20):
    for (x,) in loader:
        recon, z = model(x)
        terms = {"mse": F.mse_loss(recon, x), "l1": z.abs().sum(-1).mean()}
        loss = sum(weights[k] * v for k, v in terms.items())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, {k: round(v.item(), 4) for k, v in terms.items()})
