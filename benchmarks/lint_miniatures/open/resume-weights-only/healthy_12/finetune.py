import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.head = nn.Linear(256, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


parser = argparse.ArgumentParser()
parser.add_argument("--pretrained", required=True, help="weights of the pre-trained backbone")
args = parser.parse_args()

net = Net(classes=12)
weights = torch.load(args.pretrained, map_location="cpu")
net.backbone.load_state_dict({k.removeprefix("backbone."): v for k, v in weights.items() if k.startswith("backbone.")})
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
loader = DataLoader(TensorDataset(torch.randn(2000, 64), torch.randint(0, 12, (2000,))), 32, shuffle=True)
net.train()
for epoch in range(10):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
torch.save(net.state_dict(), "finetuned.pt")
