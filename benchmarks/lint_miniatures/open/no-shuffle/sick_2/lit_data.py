import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


class FolderData(L.LightningDataModule):
    def __init__(self, root="data", batch_size=32):
        super().__init__()
        self.root, self.batch_size = root, batch_size
        self.tf = transforms.Compose([transforms.Resize((64, 64)), transforms.ToTensor()])

    def _loader(self, split):
        ds = datasets.ImageFolder(f"{self.root}/{split}", self.tf)
        return DataLoader(ds, batch_size=self.batch_size, num_workers=4, pin_memory=True)  #@

    def train_dataloader(self):
        return self._loader("train")  #@

    def val_dataloader(self):
        return self._loader("val")


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 20))

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self.net(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_acc", (self.net(x).argmax(1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.Trainer(max_epochs=20).fit(Net(), datamodule=FolderData())
