import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
features = torch.randn(3500, 30)
labels = (features[:, 0] + features[:, 1] > 0).float().unsqueeze(1)
loader = DataLoader(TensorDataset(features[:3000], labels[:3000]), batch_size=32, shuffle=True)

for epoch in range(20):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        logits = model(x)
        loss = criterion(logits, y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        probs = torch.sigmoid(model(features[3000:]))
        acc = ((probs > 0.5).float() == labels[3000:]).float().mean().item()
    print(f"epoch {epoch}: {loss.item():.4f} acc {acc:.3f}")
