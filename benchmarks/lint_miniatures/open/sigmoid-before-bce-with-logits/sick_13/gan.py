import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(2, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
        self.act = nn.Sigmoid() #@

    def forward(self, x):
        return self.act(self.features(x)) #@


class GAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.gen = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 2))
        self.disc = Discriminator()
        self.loss = nn.BCEWithLogitsLoss() #@

    def training_step(self, batch, batch_idx):
        (real,) = batch
        opt_g, opt_d = self.optimizers()
        fake = self.gen(torch.randn(len(real), 16, device=self.device))
        ones, zeros = torch.ones(len(real), 1, device=self.device), torch.zeros(len(real), 1, device=self.device)
        d_loss = self.loss(self.disc(real), ones) + self.loss(self.disc(fake.detach()), zeros) #@
        opt_d.zero_grad()
        self.manual_backward(d_loss)
        opt_d.step()
        g_loss = self.loss(self.disc(fake), ones) #@
        opt_g.zero_grad()
        self.manual_backward(g_loss)
        opt_g.step()

    def configure_optimizers(self):
        return [torch.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.999)) for m in (self.gen, self.disc)]


L.Trainer(max_epochs=50).fit(GAN(), DataLoader(TensorDataset(torch.randn(10000, 2)), 100, shuffle=True))
