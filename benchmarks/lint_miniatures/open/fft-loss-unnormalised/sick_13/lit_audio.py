import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def spectral_distance(x, y, n_fft=None):
    X, Y = torch.fft.rfft(x, n=n_fft), torch.fft.rfft(y, n=n_fft) #@
    mag = (X.abs() - Y.abs()).pow(2).mean() #@
    return mag


class Enhancer(L.LightningModule):
    def __init__(self, spec_weight=0.5):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Conv1d(1, 32, 31, padding=15), nn.PReLU(), nn.Conv1d(32, 1, 31, padding=15))

    def training_step(self, batch, batch_idx):
        (clean,) = batch
        est = self.net(clean + 0.05 * torch.randn_like(clean))
        wave = F.mse_loss(est, clean)
        spec = spectral_distance(est, clean)
        loss = wave + self.hparams.spec_weight * spec #@
        self.log_dict({"wave": wave, "spec": spec})
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


wav = torch.rand(1000, 1, 16384) * 2 - 1
L.Trainer(max_epochs=20).fit(Enhancer(), DataLoader(TensorDataset(wav), batch_size=8, shuffle=True))
