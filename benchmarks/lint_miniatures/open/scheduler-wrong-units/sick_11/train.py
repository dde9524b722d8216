import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 100
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS) #@
loader = DataLoader(TensorDataset(torch.randn(10000, 64), torch.randint(0, 10, (10000,))), 100, shuffle=True)

model.train()
for epoch in range(EPOCHS):
    running = torch.zeros(())
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step() #@
        running += loss.detach()
    lr = optimizer.param_groups[0]["lr"]
    print(f"epoch {epoch} lr {lr:.5f} loss {running.item() / len(loader):.4f}")

torch.save(model.state_dict(), "model.pt")
