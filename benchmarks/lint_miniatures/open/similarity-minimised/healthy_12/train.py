import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(40, 128), nn.ReLU())
        self.content = nn.Linear(128, 32)
        self.style = nn.Linear(128, 32)
        self.classifier = nn.Linear(32, 4)
        self.domain = nn.Linear(32, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.content(h), self.style(h)


net = TwoHeads()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
data = TensorDataset(torch.randn(4000, 40), torch.randint(0, 4, (4000,)), torch.randint(0, 3, (4000,)))
loader = DataLoader(data, batch_size=50, shuffle=True)
net.train()
for epoch in range(20):
    for x, label, domain in loader:
        content, style = net(x)
        task = F.cross_entropy(net.classifier(content), label) + F.cross_entropy(net.domain(style), domain)
        orthogonality = F.cosine_similarity(content, style, dim=-1).pow(2).mean()
        loss = task + 0.5 * orthogonality
        opt.zero_grad()
        loss.backward()
        opt.step()
