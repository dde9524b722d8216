import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class MultiCoilMRI(Dataset):
    def __init__(self, images, coils=8, sigma=0.02):
        self.images, self.coils, self.sigma = images, coils, sigma

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i]
        coils = image.repeat(self.coils, 1, 1) #@
        coils = coils + self.sigma * torch.randn_like(coils) #@
        return coils, image


loader = DataLoader(MultiCoilMRI(torch.rand(2000, 1, 64, 64)), batch_size=16, shuffle=True) #@
net = nn.Sequential(
    nn.Conv2d(8, 64, 3, padding=1), nn.ReLU(),
    nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
    nn.Conv2d(64, 1, 3, padding=1),
)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
net.train()
for epoch in range(30):
    for coils, target in loader:
        opt.zero_grad()
        loss = nn.functional.l1_loss(net(coils), target)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
