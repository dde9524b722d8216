import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))

    @torch.no_grad()
    def predict(self, x):
        return torch.softmax(self(x), dim=1)


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(net.parameters(), lr=1e-3)
images, labels = torch.rand(2500, 1, 28, 28), torch.randint(0, 10, (2500,))
trainloader = DataLoader(TensorDataset(images[:2000], labels[:2000]), batch_size=64, shuffle=True)

for epoch in range(10):
    net.train()
    for x, y in trainloader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
    net.eval()
    probs = net.predict(images[2000:])
    accuracy = (probs.argmax(1) == labels[2000:]).float().mean().item()
    print(f"[{epoch + 1}] accuracy: {accuracy:.3f} mean confidence: {probs.amax(1).mean().item():.3f}")
