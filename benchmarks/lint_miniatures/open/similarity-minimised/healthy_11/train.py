import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def simsiam_distance(p, z):
    return -F.cosine_similarity(p, z.detach(), dim=-1).mean()


encoder = nn.Sequential(nn.Linear(100, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 64))
predictor = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 64))
optimizer = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.05, momentum=0.9)
loader = DataLoader(TensorDataset(torch.randn(8000, 100)), batch_size=128, shuffle=True, drop_last=True)
encoder.train()
predictor.train()
for epoch in range(30):
    for (x,) in loader:
        z1 = encoder(x + 0.2 * torch.randn_like(x))
        z2 = encoder(x + 0.2 * torch.randn_like(x))
        loss = 0.5 * (simsiam_distance(predictor(z1), z2) + simsiam_distance(predictor(z2), z1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
