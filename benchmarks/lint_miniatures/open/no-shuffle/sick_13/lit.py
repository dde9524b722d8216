import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import transforms as T
from torchvision.datasets import ImageFolder


class FoodData(L.LightningDataModule):
    def __init__(self, root="food101", batch_size=64):
        super().__init__()
        self.root, self.batch_size = root, batch_size

    def setup(self, stage=None):
        tf = T.Compose([T.Resize((96, 96)), T.ToTensor()])
        self.train_set = ImageFolder(f"{self.root}/train", tf)
        self.val_set = ImageFolder(f"{self.root}/test", tf)

    def train_dataloader(self): #@
        return DataLoader(self.train_set, batch_size=self.batch_size, num_workers=8) #@

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=self.batch_size, num_workers=8)


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 64, 5, 4), nn.ReLU(), nn.Flatten(), nn.LazyLinear(101))

    def training_step(self, batch, batch_idx):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", nn.functional.cross_entropy(self.net(x), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


model = Net()
model.net(torch.zeros(1, 3, 96, 96))
L.Trainer(max_epochs=20).fit(model, datamodule=FoodData())
