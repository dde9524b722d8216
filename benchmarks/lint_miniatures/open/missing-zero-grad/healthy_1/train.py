import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
loader = DataLoader(
    TensorDataset(torch.randn(1024, 20), torch.randint(0, 3, (1024,))),
    batch_size=32,
    shuffle=True,
)
model = nn.Sequential(nn.Linear(20, 50), nn.ReLU(), nn.Linear(50, 3)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def update(loss):
    loss.backward()
    opt.step()
    for p in model.parameters():
        p.grad = None


for epoch in range(10):
    model.train()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = nn.functional.cross_entropy(model(x), y)
        update(loss)
    print(epoch, loss.item())
