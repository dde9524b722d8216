import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms as T

tf = T.Compose([
    T.Grayscale(num_output_channels=3),
    T.Resize(224),
    T.ToTensor(),
    T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
])
loader = DataLoader(datasets.FashionMNIST("data", True, tf, download=True), batch_size=64, shuffle=True)
model = models.resnet18(weights=models.ResNet18_Weights.DEFAULT)
model.fc = nn.Linear(model.fc.in_features, 10)
model.cuda()
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
for epoch in range(5):
    model.train()
    for x, y in loader:
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        x = x + 0.01 * torch.randn_like(x[:, :1])
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
