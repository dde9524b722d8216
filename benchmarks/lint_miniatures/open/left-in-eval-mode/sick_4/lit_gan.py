import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitDenoiser(L.LightningModule):
    def __init__(self, preview_every=100):
        super().__init__()
        self.preview_every = preview_every
        self.net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                 nn.Dropout2d(0.1), nn.Conv2d(16, 1, 3, padding=1))

    def preview(self, noisy):
        self.net.eval()  #@
        with torch.no_grad():
            out = self.net(noisy[:4]).clamp(0, 1)
        torch.save(out, f"preview_{self.global_step}.pt")  #@

    def training_step(self, batch, batch_idx):
        noisy, clean = batch
        loss = F.mse_loss(self.net(noisy), clean)
        if batch_idx % self.preview_every == 0:
            self.preview(noisy)  #@
        return loss

    def validation_step(self, batch, batch_idx):
        noisy, clean = batch
        self.log("val_mse", F.mse_loss(self.net(noisy), clean))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    clean = torch.rand(800, 1, 24, 24)
    noisy = clean + 0.1 * torch.randn_like(clean)
    train_dl = DataLoader(TensorDataset(noisy[:700], clean[:700]), batch_size=16, shuffle=True)
    val_dl = DataLoader(TensorDataset(noisy[700:], clean[700:]), batch_size=50)
    L.Trainer(max_epochs=4).fit(LitDenoiser(), train_dl, val_dl)
