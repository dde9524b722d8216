import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 14 * 14, 64)
        self.fc2 = nn.Linear(64, 10)
        self.pool = nn.MaxPool2d(2)
        self.softmax = nn.Softmax(dim=1) #@

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = torch.relu(self.fc1(x.flatten(1)))
        return self.softmax(self.fc2(x)) #@


net = Net()
criterion = nn.CrossEntropyLoss() #@
optimizer = optim.Adam(net.parameters(), lr=1e-3)
trainset = TensorDataset(torch.rand(2000, 1, 28, 28), torch.randint(0, 10, (2000,)))
trainloader = DataLoader(trainset, batch_size=64, shuffle=True)

for epoch in range(10):
    net.train()
    for inputs, labels in trainloader:
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels) #@
        loss.backward()
        optimizer.step()
    print(f"[{epoch + 1}] loss: {loss.item():.3f}")
