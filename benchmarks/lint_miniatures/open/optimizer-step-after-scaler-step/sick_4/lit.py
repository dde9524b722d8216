import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitDenoiser(L.LightningModule):
    def __init__(self, lr=2e-4):
        super().__init__()
        self.automatic_optimization = False
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(32, 128), nn.SiLU(), nn.Linear(128, 32))
        self.scaler = torch.amp.GradScaler("cuda")

    def training_step(self, batch, batch_idx):
        (clean,) = batch
        opt = self.optimizers(use_pl_optimizer=False)
        noisy = clean + 0.1 * torch.randn_like(clean)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(self.net(noisy), clean)
        opt.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(opt) #@
        opt.step() #@
        self.scaler.update()
        self.log("loss", loss.detach())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


if __name__ == "__main__":
    data = DataLoader(TensorDataset(torch.randn(4000, 32)), batch_size=80, shuffle=True)
    L.Trainer(accelerator="gpu", devices=1, max_epochs=4).fit(LitDenoiser(), data)
