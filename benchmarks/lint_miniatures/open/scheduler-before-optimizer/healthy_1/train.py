import torch
from timm.scheduler import CosineLRScheduler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

epochs = 20
loader = DataLoader(TensorDataset(torch.randn(1200, 19), torch.randint(0, 5, (1200,))), batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(19, 57), nn.ReLU(), nn.Linear(57, 5))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = CosineLRScheduler(optimizer, t_initial=epochs, warmup_t=3, warmup_lr_init=1e-5, lr_min=1e-6)

for epoch in range(epochs):
    scheduler.step(epoch)
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total = total + loss.detach()
    lr = optimizer.param_groups[0]["lr"]
    print(f"epoch {epoch} lr {lr:.2e} loss {(total / len(loader)).item():.4f}")

torch.save(model.state_dict(), "final.pt")
