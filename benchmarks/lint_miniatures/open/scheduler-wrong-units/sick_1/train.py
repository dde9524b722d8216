import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 50
device = "cuda" if torch.cuda.is_available() else "cpu"
train_loader = DataLoader(
    TensorDataset(torch.randn(6400, 32), torch.randint(0, 10, (6400,))), batch_size=64, shuffle=True
)
model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS) #@

for epoch in range(EPOCHS):
    model.train()
    for xb, yb in train_loader:
        xb, yb = xb.to(device), yb.to(device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        scheduler.step() #@
    print(f"{epoch}: loss={loss.item():.4f} lr={scheduler.get_last_lr()[0]:.5f}")

torch.save(model.state_dict(), "cosine.pt")
