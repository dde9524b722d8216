import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(2000, 20)
y = (x[:, :3].sum(1) > 0).long()
train_loader = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=64, shuffle=True)
test_loader = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=64)
model = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(10):
    for phase, loader in (("train", train_loader), ("test", test_loader)):
        model.train(phase == "train")
        correct = torch.zeros((), dtype=torch.long)
        with torch.set_grad_enabled(phase == "train"):
            for data, target in loader:
                logits = model(data)
                if phase == "train":
                    optimizer.zero_grad()
                    F.cross_entropy(logits, target).backward()
                    optimizer.step()
                correct += (logits.argmax(1) == target).sum()
        print(f"epoch {epoch} {phase} accuracy {correct.item() / len(loader.dataset):.4f}")
