import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accumulation_steps = 8 #@
device = "cuda" if torch.cuda.is_available() else "cpu"
loader = DataLoader(TensorDataset(torch.randn(1024, 24), torch.randint(0, 6, (1024,))), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(24, 72), nn.ReLU(), nn.Linear(72, 6)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()

for epoch in range(10):
    model.train()
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        x, y = x.to(device), y.to(device)
        loss = criterion(model(x), y) #@
        loss.backward() #@
        if (i + 1) % accumulation_steps == 0:
            optimizer.step() #@
            optimizer.zero_grad()
    print(epoch, loss.item())

torch.save(model.state_dict(), "acc.pt")
print("saved acc.pt")
