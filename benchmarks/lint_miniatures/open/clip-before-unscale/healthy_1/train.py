import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda")
loader = DataLoader(TensorDataset(torch.randn(1024, 30), torch.randn(1024, 1)), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(30, 60), nn.ReLU(), nn.Linear(60, 1)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda")


def unscale_and_clip(max_norm):
    scaler.unscale_(optimizer)
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm)


for epoch in range(10):
    model.train()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        grad_norm = unscale_and_clip(1.0)
        scaler.step(optimizer)
        scaler.update()
    print(epoch, loss.item(), grad_norm.item())
