import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

MAX_NORM = 5.0
model = nn.GRU(8, 64, num_layers=2, batch_first=True)
head = nn.Linear(64, 1)
params = [*model.parameters(), *head.parameters()]
optimizer = torch.optim.RMSprop(params, lr=1e-3)
x = torch.randn(3000, 40, 8)
loader = DataLoader(TensorDataset(x, x.sum((1, 2))[:, None] / 18), batch_size=30, shuffle=True)

model.train()
head.train()
for epoch in range(25):
    clipped = torch.zeros(())
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(head(model(xb)[0][:, -1]), yb)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(params, max_norm=MAX_NORM, norm_type=2.0)
        clipped += (norm > MAX_NORM).float()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} clipped {clipped.item() / len(loader):.1%}")
torch.save({"gru": model.state_dict(), "head": head.state_dict()}, "forecast.pt")
