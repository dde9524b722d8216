import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).sigmoid() #@


def adversarial(pred, is_real, loss=nn.BCEWithLogitsLoss()): #@
    target = torch.ones_like(pred) if is_real else torch.zeros_like(pred)
    return loss(pred, target) #@


def main():
    G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
    D = Discriminator() #@
    opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
    loader = DataLoader(TensorDataset(torch.randn(8000, 2) * 0.5 + 2), batch_size=128, shuffle=True)
    for epoch in range(50):
        for (real,) in loader:
            fake = G(torch.randn(len(real), 8))
            d_loss = adversarial(D(real), True) + adversarial(D(fake.detach()), False) #@
            opt_d.zero_grad()
            d_loss.backward()
            opt_d.step()
            g_loss = adversarial(D(fake), True) #@
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
        print(epoch, d_loss.item(), g_loss.item())


if __name__ == "__main__":
    main()
