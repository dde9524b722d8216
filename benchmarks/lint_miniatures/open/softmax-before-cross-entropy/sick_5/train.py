import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

from losses import DistillLoss


def mlp(width):
    return nn.Sequential(nn.Linear(50, width), nn.ReLU(), nn.Linear(width, 10))


def train_epoch(student, teacher, loader, criterion, optimizer):
    student.train()
    for x, y in loader:
        with torch.no_grad():
            t = teacher(x)
        optimizer.zero_grad()
        loss = criterion(student(x), t, y) #@
        loss.backward()
        optimizer.step()
    return loss.item()


teacher, student = mlp(512), mlp(32)
teacher.load_state_dict(torch.load("teacher.pt"))
teacher.eval()
criterion = DistillLoss()
optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(5000, 50), torch.randint(0, 10, (5000,))), batch_size=100, shuffle=True)
for epoch in range(20):
    print(epoch, train_epoch(student, teacher, loader, criterion, optimizer))
