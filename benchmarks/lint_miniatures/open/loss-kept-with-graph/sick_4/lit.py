import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitClassifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 80), nn.ReLU(), nn.Linear(80, 4))
        self.training_step_outputs = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self.net(x)
        loss = nn.functional.cross_entropy(logits, y)
        self.training_step_outputs.append(loss) #@
        return loss

    def on_train_epoch_end(self):
        epoch_mean = torch.stack(self.training_step_outputs).mean() #@
        self.log("training_epoch_mean", epoch_mean)
        self.training_step_outputs.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(4000, 20), torch.randint(0, 4, (4000,)))
    L.Trainer(max_epochs=5).fit(LitClassifier(), DataLoader(ds, batch_size=40, shuffle=True))
