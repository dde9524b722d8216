import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(4000, 20), torch.randn(4000, 1)), batch_size=64, shuffle=True)

history = []
for epoch in range(30):
    model.train()
    grad_norms = []
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf")) #@
        grad_norms.append(grad_norm.detach())
        optimizer.step()
    mean_norm = torch.stack(grad_norms).mean().item()
    history.append(mean_norm)
    print(f"epoch {epoch} loss {loss.item():.4f} grad {mean_norm:.3f}")
torch.save({"model": model.state_dict(), "grad_history": history}, "final.pt")
