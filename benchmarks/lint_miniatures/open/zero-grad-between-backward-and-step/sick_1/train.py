import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
trainset = TensorDataset(torch.randn(1000, 3, 16, 16), torch.randint(0, 10, (1000,)))
trainloader = DataLoader(trainset, batch_size=50, shuffle=True, num_workers=2)

net = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)
).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

for epoch in range(5):
    net.train()
    for i, data in enumerate(trainloader):
        inputs, labels = data[0].to(device), data[1].to(device)
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward() #@
        optimizer.zero_grad() #@
        optimizer.step() #@
    print("[%d] loss: %.3f" % (epoch + 1, loss.item()))

print("Finished Training")
