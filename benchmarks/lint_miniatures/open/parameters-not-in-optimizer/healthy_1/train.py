import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

backbone = nn.Sequential(nn.Linear(32, 64), nn.ReLU())
backbone.load_state_dict(torch.load("backbone.pt"))
backbone.requires_grad_(False)
head = nn.Linear(64, 5)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(1000, 32), torch.randint(0, 5, (1000,))), batch_size=25, shuffle=True)

for epoch in range(10):
    backbone.eval()
    head.train()
    for x, y in loader:
        with torch.no_grad():
            feats = backbone(x)
        loss = nn.functional.cross_entropy(head(feats), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())

torch.save(head.state_dict(), "head.pt")


print("linear probe done")
