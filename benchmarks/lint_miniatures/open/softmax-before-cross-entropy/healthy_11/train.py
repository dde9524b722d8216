import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 100)
        self.fc2 = nn.Linear(100, 10)

    def forward(self, x):
        logits = self.fc2(F.relu(self.fc1(x)))
        return logits if self.training else F.softmax(logits, dim=1)


x, y = torch.randn(3000, 64), torch.randint(0, 10, (3000,))
train_loader = DataLoader(TensorDataset(x[:2500], y[:2500]), batch_size=50, shuffle=True)
val_loader = DataLoader(TensorDataset(x[2500:], y[2500:]), batch_size=100)
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(20):
    net.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        criterion(net(xb), yb).backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        confidence = torch.cat([net(xb).gather(1, yb[:, None]) for xb, yb in val_loader])
    print(epoch, confidence.mean().item())
