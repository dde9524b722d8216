import torch
import yaml
from lightning import LightningModule, Trainer, seed_everything
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class SpectralConvergence(nn.Module):
    def forward(self, estimate, reference):
        a = torch.fft.rfft(estimate, norm="ortho").abs()  #@
        b = torch.fft.rfft(reference.to(estimate.dtype), norm="ortho").abs()  #@
        return F.l1_loss(a.float(), b.float())


class Enhancer(LightningModule):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.net = nn.Sequential(
            nn.Conv1d(1, 64, 15, padding=7), nn.PReLU(),
            nn.Conv1d(64, 64, 15, padding=7), nn.PReLU(), nn.Conv1d(64, 1, 15, padding=7))
        self.spectral = SpectralConvergence()

    def training_step(self, batch, batch_idx):
        noisy, clean = batch
        out = self.net(noisy)
        loss = F.l1_loss(out, clean) + self.cfg["spectral_weight"] * self.spectral(out, clean)  #@
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        noisy, clean = batch
        self.log("val/l1", F.l1_loss(self.net(noisy), clean), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.cfg["lr"])


if __name__ == "__main__":
    with open("config.yaml") as f:
        cfg = yaml.safe_load(f)
    seed_everything(17)
    train = TensorDataset(*torch.load("vctk_train.pt"))
    val = TensorDataset(*torch.load("vctk_val.pt"))
    trainer = Trainer(max_epochs=cfg["epochs"], precision=cfg["precision"], accelerator="gpu", devices=1)
    trainer.fit(Enhancer(cfg),
                DataLoader(train, cfg["batch_size"], shuffle=True),
                DataLoader(val, cfg["batch_size"]))
