import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(
    nn.Linear(30, 64),
    nn.ReLU(),
    nn.Linear(64, 1),
    nn.Sigmoid(), #@
)
criterion = nn.BCEWithLogitsLoss() #@
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
features = torch.randn(3000, 30)
labels = (features[:, 0] + features[:, 1] > 0).float().unsqueeze(1)
loader = DataLoader(TensorDataset(features, labels), batch_size=32, shuffle=True)

for epoch in range(20):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y) #@
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")

torch.save(model.state_dict(), "fraud.pt")
