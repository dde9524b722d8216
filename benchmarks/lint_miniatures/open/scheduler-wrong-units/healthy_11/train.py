import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 100
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loader = DataLoader(TensorDataset(torch.randn(10000, 64), torch.randint(0, 10, (10000,))), 100, shuffle=True)
total_steps = EPOCHS * len(loader)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, total_iters=500)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=total_steps - 500)
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, cosine], milestones=[500])

model.train()
for epoch in range(EPOCHS):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(f"epoch {epoch} lr {scheduler.get_last_lr()[0]:.5f} loss {loss.item():.4f}")

torch.save(model.state_dict(), "model.pt")
