import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda")
dataset = TensorDataset(torch.randn(50000, 64), torch.randint(0, 10, (50000,)))
loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=4, pin_memory=True)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(10):
    model.train()
    running_loss = 0.0
    correct = 0
    for inputs, labels in loader:
        inputs, labels = inputs.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item() #@
        correct += (outputs.argmax(1) == labels).sum().item() #@
    print(f"epoch {epoch} loss {running_loss / len(loader):.4f} acc {correct / len(dataset):.3f}")
