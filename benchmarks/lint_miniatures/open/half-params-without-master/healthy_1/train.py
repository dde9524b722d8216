import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda"
backbone = nn.Sequential(nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 256)).to(device).half()
backbone.load_state_dict(torch.load("backbone.pt", map_location=device))
backbone.requires_grad_(False).eval()
head = nn.Linear(256, 10).to(device)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
dataset = TensorDataset(torch.randn(5000, 64), torch.randint(0, 10, (5000,)))
loader = DataLoader(dataset, batch_size=64, shuffle=True)

for epoch in range(20):
    head.train()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        with torch.no_grad():
            feats = backbone(x.half()).float()
        loss = criterion(head(feats), y)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())

torch.save(head.state_dict(), "head.pt")
