import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def gram(f):
    b, c, h, w = f.shape
    f = f.flatten(2)
    return f @ f.transpose(1, 2)


def style_loss(a, b):
    return (gram(a) - gram(b)).pow(2).sum(dim=(1, 2)).mean()


STYLE_WEIGHT = 1e-6  # the sum over unnormalised Gram matrices is of the order of 1e6
extractor = nn.Conv2d(3, 32, 5, padding=2).requires_grad_(False)
net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.rand(2000, 3, 64, 64)), batch_size=16, shuffle=True)
net.train()
for epoch in range(30):
    for (clean,) in loader:
        out = net(clean + 0.1 * torch.randn_like(clean))
        loss = F.l1_loss(out, clean) + STYLE_WEIGHT * style_loss(extractor(out), extractor(clean))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
