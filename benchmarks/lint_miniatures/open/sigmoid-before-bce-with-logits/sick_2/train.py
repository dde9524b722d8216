import lightning as L
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from model import UNetLite


class Segmentation(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.lr = lr
        self.model = UNetLite() #@

    def training_step(self, batch, batch_idx):
        image, mask = batch
        pred = self.model(image) #@
        loss = F.binary_cross_entropy_with_logits(pred, mask) #@
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


masks = (torch.rand(200, 1, 64, 64) > 0.8).float()
dataset = TensorDataset(masks + 0.2 * torch.randn_like(masks), masks)
L.Trainer(max_epochs=25).fit(Segmentation(), DataLoader(dataset, batch_size=8, shuffle=True))
