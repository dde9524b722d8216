import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 4))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(6000, 40), torch.randint(0, 4, (6000,))
train_loader = DataLoader(TensorDataset(x[:5000], y[:5000]), batch_size=50, shuffle=True)
val_loader = DataLoader(TensorDataset(x[5000:], y[5000:]), batch_size=100)

for epoch in range(40):
    model.train()
    total_loss = 0 #@
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        total_loss += loss #@
    model.eval()
    with torch.no_grad():
        val_loss = sum(criterion(model(a), b) for a, b in val_loader) / len(val_loader)
    print(f"{epoch}: train {total_loss / len(train_loader):.4f} val {val_loss:.4f}")
torch.save(model.state_dict(), "model.pt")
