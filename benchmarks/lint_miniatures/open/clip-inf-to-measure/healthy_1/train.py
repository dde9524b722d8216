import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(4000, 20), torch.randn(4000, 1)), batch_size=64, shuffle=True)


@torch.no_grad()
def measure_grad_norm(parameters):
    norms = [p.grad.norm() for p in parameters if p.grad is not None]
    return torch.linalg.vector_norm(torch.stack(norms))


for epoch in range(30):
    model.train()
    grad_norms = []
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        grad_norms.append(measure_grad_norm(model.parameters()))
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} grad {torch.stack(grad_norms).mean().item():.3f}")
