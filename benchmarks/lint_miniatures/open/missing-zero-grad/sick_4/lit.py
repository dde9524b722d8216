import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitAutoencoder(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.encoder = nn.Sequential(nn.Linear(64, 16), nn.ReLU())
        self.decoder = nn.Linear(16, 64)

    def training_step(self, batch, batch_idx): #@
        (x,) = batch
        opt = self.optimizers() #@
        recon = self.decoder(self.encoder(x))
        loss = nn.functional.mse_loss(recon, x)
        self.manual_backward(loss) #@
        opt.step() #@
        self.log("train_loss", loss)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


if __name__ == "__main__":
    loader = DataLoader(TensorDataset(torch.rand(2000, 64)), batch_size=64, shuffle=True)
    trainer = L.Trainer(max_epochs=5)
    trainer.fit(LitAutoencoder(), loader)
