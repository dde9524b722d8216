import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad()
def total_grad_norm(parameters):
    norms = [p.grad.norm() for p in parameters if p.grad is not None]
    return torch.stack(norms).norm()


model = nn.Sequential(nn.Linear(50, 200), nn.ReLU(), nn.Linear(200, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(5000, 50), torch.randint(0, 5, (5000,))), 50, shuffle=True)
step = 0
model.train()
for epoch in range(30):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        if step % 100 == 0:
            print(step, loss.item(), total_grad_norm(model.parameters()).item())
        optimizer.step()
        step += 1
torch.save(model.state_dict(), "model.pt")
