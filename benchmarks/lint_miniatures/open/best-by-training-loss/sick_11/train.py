import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

data = TensorDataset(torch.randn(3000, 30), torch.randint(0, 4, (3000,)))
train_set, val_set = random_split(data, [2500, 500])
train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
val_loader = DataLoader(val_set, batch_size=100)
model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 4))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
best_loss = float("inf")

for epoch in range(100):
    model.train()
    running = torch.zeros(())
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.detach()
    train_loss = running.item() / len(train_loader) #@

    model.eval()
    with torch.no_grad():
        val_loss = sum(criterion(model(x), y).item() for x, y in val_loader) / len(val_loader)
    print(f"{epoch}: train {train_loss:.4f} val {val_loss:.4f}")

    if train_loss < best_loss: #@
        best_loss = train_loss #@
        torch.save(model.state_dict(), "best_model.pth") #@
