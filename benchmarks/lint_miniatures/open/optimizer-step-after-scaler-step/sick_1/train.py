import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda")
scaler = torch.cuda.amp.GradScaler()
model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 26 * 26, 10)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()
dataset = TensorDataset(torch.rand(2000, 1, 28, 28), torch.randint(0, 10, (2000,)))
loader = DataLoader(dataset, batch_size=100, shuffle=True)

for epoch in range(5):
    model.train()
    for images, labels in loader:
        images = images.to(device)
        labels = labels.to(device)
        optimizer.zero_grad()
        with torch.cuda.amp.autocast():
            loss = loss_fn(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer) #@
        scaler.update()
        optimizer.step() #@
    print(f"Epoch {epoch + 1}: {loss.item():.4f}")
