import torch
import torch.nn as nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    return sum((model(x).argmax(1) == y).sum() for x, y in loader).item() / len(loader.dataset)


x, y = torch.randn(5000, 20), torch.randint(0, 5, (5000,))
train_loader = DataLoader(TensorDataset(x[:4500], y[:4500]), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(x[4500:], y[4500:]), batch_size=100)
model = nn.Sequential(nn.Linear(20, 128), nn.LayerNorm(128), nn.ReLU(), nn.Linear(128, 5))
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.995))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
best = 0.0
for epoch in range(50):
    model.train()
    for xb, yb in train_loader:
        opt.zero_grad()
        nn.functional.cross_entropy(model(xb), yb).backward()
        opt.step()
        ema.update_parameters(model)
    raw, avg = accuracy(model, val_loader), accuracy(ema, val_loader)
    print(f"{epoch} raw {raw:.3f} ema {avg:.3f}")
    if avg > best:
        best = avg
        torch.save(ema.module.state_dict(), "best_ema.pt")
