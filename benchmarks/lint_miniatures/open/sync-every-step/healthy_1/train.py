import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda")
dataset = TensorDataset(torch.randn(20000, 64), torch.randint(0, 10, (20000,)))
loader = DataLoader(dataset, batch_size=64, shuffle=True, pin_memory=True)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(10):
    model.train()
    total = torch.zeros((), device=device)
    correct = torch.zeros((), device=device)
    for step, (x, y) in enumerate(loader):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        optimizer.zero_grad()
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        total += loss.detach()
        correct += (out.argmax(1) == y).sum()
        if step % 100 == 0:
            print(epoch, step, loss.item())
    print(epoch, total.item() / len(loader), correct.item() / len(dataset))
