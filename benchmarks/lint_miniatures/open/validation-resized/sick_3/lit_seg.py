import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms.v2 import functional as TF


class Cells(Dataset):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return torch.load(self.items[i] + "/image.pt"), torch.load(self.items[i] + "/mask.pt")


class SegModule(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 4, 1))

    def training_step(self, batch, _):
        image, mask = batch
        return F.cross_entropy(self.net(image), mask)

    def validation_step(self, batch, _):
        image, mask = batch
        image = TF.center_crop(image, [224, 224])  #@
        mask = TF.center_crop(mask, [224, 224])  #@
        pred = self.net(image).argmax(1)  #@
        self.log("val_pixel_acc", (pred == mask).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


if __name__ == "__main__":
    ids = [f"cells/{i:03d}" for i in range(120)]
    train_dl = DataLoader(Cells(ids[:100]), batch_size=1, shuffle=True)
    val_dl = DataLoader(Cells(ids[100:]), batch_size=1)
    L.Trainer(max_epochs=20).fit(SegModule(), train_dl, val_dl)
