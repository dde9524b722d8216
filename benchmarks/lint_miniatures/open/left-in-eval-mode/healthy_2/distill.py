import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def mlp(width):
    return nn.Sequential(nn.Linear(20, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(width, 4))


teacher, student = mlp(512), mlp(32)
teacher.load_state_dict(torch.load("teacher.pt", map_location="cpu"))
teacher.eval().requires_grad_(False)

x, y = torch.randn(2000, 20), torch.randint(0, 4, (2000,))
train_dl = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=64, shuffle=True)
val_dl = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=200)
opt = torch.optim.Adam(student.parameters(), lr=1e-3)
T = 2.0

for epoch in range(10):
    student.train()
    for xb, yb in train_dl:
        with torch.no_grad():
            soft = F.softmax(teacher(xb) / T, dim=1)
        logits = student(xb)
        kd = F.kl_div(F.log_softmax(logits / T, dim=1), soft, reduction="batchmean") * T * T
        loss = 0.5 * kd + 0.5 * F.cross_entropy(logits, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    student.eval()
    with torch.no_grad():
        hits = sum((student(xb).argmax(1) == yb).sum() for xb, yb in val_dl)
    print(epoch, hits.item() / len(val_dl.dataset))
