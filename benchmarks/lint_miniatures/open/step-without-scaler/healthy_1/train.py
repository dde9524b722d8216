import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

use_amp = torch.cuda.is_available()
device = "cuda" if use_amp else "cpu"
model = nn.Sequential(nn.Linear(15, 45), nn.ReLU(), nn.Linear(45, 5)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda") if use_amp else None
loader = DataLoader(TensorDataset(torch.randn(900, 15), torch.randint(0, 5, (900,))), batch_size=45, shuffle=True)


def update(loss):
    optimizer.zero_grad()
    if scaler is not None:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        optimizer.step()


for epoch in range(10):
    model.train()
    for x, y in loader:
        with torch.autocast(device, dtype=torch.float16, enabled=use_amp):
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        update(loss)
    print(epoch, loss.item())
