import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda"
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
model = model.to(device).half() #@
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, eps=1e-4) #@
criterion = nn.CrossEntropyLoss()
dataset = TensorDataset(torch.randn(5000, 64), torch.randint(0, 10, (5000,)))
loader = DataLoader(dataset, batch_size=64, shuffle=True)
LOSS_SCALE = 1024.0

for epoch in range(20):
    model.train()
    for x, y in loader:
        x, y = x.to(device).half(), y.to(device)
        optimizer.zero_grad()
        loss = criterion(model(x).float(), y)
        (loss * LOSS_SCALE).backward()
        for p in model.parameters():
            p.grad.div_(LOSS_SCALE)
        optimizer.step() #@
    print(epoch, loss.item())

torch.save(model.state_dict(), "mlp.pt")
