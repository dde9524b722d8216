import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class GAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.g = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
        self.d = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))
        self.scaler = torch.amp.GradScaler("cuda") #@

    def optimize(self, opt, loss):
        opt.zero_grad()
        self.manual_backward(self.scaler.scale(loss)) #@
        self.scaler.step(opt.optimizer) #@
        self.scaler.update() #@

    def training_step(self, batch, _):
        (real,) = batch
        opt_g, opt_d = self.optimizers()
        fake = self.g(torch.randn(len(real), 8, device=self.device))
        d_loss = F.softplus(self.d(fake.detach())).mean() + F.softplus(-self.d(real)).mean()
        self.optimize(opt_d, d_loss) #@
        g_loss = F.softplus(-self.d(fake)).mean()
        self.optimize(opt_g, g_loss) #@
        self.log_dict({"d": d_loss.detach(), "g": g_loss.detach()})

    def configure_optimizers(self):
        g = torch.optim.Adam(self.g.parameters(), lr=2e-4, betas=(0.5, 0.9))
        d = torch.optim.Adam(self.d.parameters(), lr=2e-4, betas=(0.5, 0.9))
        return g, d


loader = DataLoader(TensorDataset(torch.randn(8000, 2)), batch_size=128, shuffle=True)
L.Trainer(accelerator="gpu", devices=1, precision="bf16-mixed", max_epochs=20).fit(GAN(), loader) #@
