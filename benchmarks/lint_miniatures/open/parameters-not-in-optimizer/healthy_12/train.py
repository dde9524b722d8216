import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import ResNet18_Weights, resnet18

net = resnet18(weights=ResNet18_Weights.DEFAULT)
for p in net.parameters():
    p.requires_grad_(False)
net.fc = nn.Linear(net.fc.in_features, 8)
decay, no_decay = [], []
for name, p in net.named_parameters():
    if not p.requires_grad:
        continue
    (no_decay if p.ndim == 1 else decay).append(p)
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}], lr=1e-3
)
data = TensorDataset(torch.randn(800, 3, 224, 224), torch.randint(0, 8, (800,)))
loader = DataLoader(data, batch_size=16, shuffle=True)
net.eval()
net.fc.train()
for epoch in range(5):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    print("epoch", epoch, "done")
