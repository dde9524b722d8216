import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
backbone = nn.Sequential(nn.Linear(64, 128), nn.ReLU()).to(device)
head = nn.Linear(128, 5).to(device)
for p in backbone.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(1000, 64), torch.randint(0, 5, (1000,))), batch_size=50, shuffle=True)

for epoch in range(10):
    backbone.eval()
    head.train()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        with torch.no_grad(): #@
            features = backbone(x)
            logits = head(features) #@
            loss = nn.functional.cross_entropy(logits, y) #@
        loss.backward() #@
        optimizer.step()
    print(epoch, loss.item())
