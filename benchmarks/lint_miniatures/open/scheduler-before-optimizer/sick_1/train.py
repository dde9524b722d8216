import torch
from torch import nn, optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Sequential(nn.Linear(28, 56), nn.ReLU(), nn.Linear(56, 4)).to(device)
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = StepLR(optimizer, step_size=10, gamma=0.1)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(TensorDataset(torch.randn(1400, 28), torch.randint(0, 4, (1400,))), batch_size=70, shuffle=True)

for epoch in range(30):
    scheduler.step() #@
    model.train()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step() #@
    print(epoch, scheduler.get_last_lr(), loss.item())

torch.save(model.state_dict(), "resnet.pt")
print("saved")
