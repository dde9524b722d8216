import torch
from torch import nn
from torch.cuda.amp import GradScaler, autocast
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(100, 300), nn.ReLU(), nn.Linear(300, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss().cuda()
scaler = GradScaler()
train_loader = DataLoader(
    TensorDataset(torch.randn(10000, 100), torch.randint(0, 10, (10000,))),
    batch_size=256,
    shuffle=True,
    num_workers=4,
)

for epoch in range(20):
    model.train()
    for inputs, targets in train_loader:
        inputs, targets = inputs.cuda(), targets.cuda()
        optimizer.zero_grad()
        with autocast():
            outputs = model(inputs)
            loss = criterion(outputs, targets)
        scaler.scale(loss).backward() #@
        optimizer.step() #@
        scaler.update() #@
    print("Epoch", epoch, "loss", loss.item())
