import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitClassifier(L.LightningModule):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, hidden), nn.ReLU(), nn.Linear(hidden, 4))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss, on_epoch=True)
        return loss

    def backward(self, loss, *args, **kwargs):
        loss.backward(*args, **kwargs)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main():
    ds = TensorDataset(torch.randn(1200, 12), torch.randint(0, 4, (1200,)))
    loader = DataLoader(ds, batch_size=64, shuffle=True)
    L.Trainer(max_epochs=10, gradient_clip_val=1.0).fit(LitClassifier(), loader)


if __name__ == "__main__":
    main()
