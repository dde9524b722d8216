import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(30000, 64)), batch_size=64, shuffle=True)
skipped = 0

model.train()
for epoch in range(20):
    for step, (x,) in enumerate(loader):
        x = x.to(device)
        loss = nn.functional.mse_loss(model(x + 0.1 * torch.randn_like(x)), x)
        if not torch.isfinite(loss):
            skipped += 1
            continue
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} skipped {skipped}")
torch.save(model.state_dict(), "model.pt")
