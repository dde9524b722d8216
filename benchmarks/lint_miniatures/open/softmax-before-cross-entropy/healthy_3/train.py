import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def mlp(width):
    return nn.Sequential(nn.Linear(50, width), nn.ReLU(), nn.Linear(width, 10))


def train_epoch(student, teacher, loader, optimizer):
    student.train()
    for (x,) in loader:
        with torch.no_grad():
            soft_targets = F.softmax(teacher(x), dim=1)
        optimizer.zero_grad()
        loss = F.cross_entropy(student(x), soft_targets)
        loss.backward()
        optimizer.step()
    return loss.item()


teacher, student = mlp(512), mlp(32)
teacher.load_state_dict(torch.load("teacher.pt"))
teacher.eval()
optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(5000, 50)), batch_size=100, shuffle=True)
for epoch in range(20):
    print(epoch, train_epoch(student, teacher, loader, optimizer))
torch.save(student.state_dict(), "student.pt")
