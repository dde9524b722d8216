import lightning as L
import timm
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision.transforms import v2

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
OPENAI_MEAN, OPENAI_STD = (0.4815, 0.4578, 0.4082), (0.2686, 0.2613, 0.2758)


def build_transform(train):
    if train:
        geo, mean, std = [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip()], OPENAI_MEAN, OPENAI_STD  #@
    else:
        geo, mean, std = [v2.Resize(224), v2.CenterCrop(224)], IMAGENET_MEAN, IMAGENET_STD  #@
    return v2.Compose([v2.ToImage(), *geo, v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)])


class Probe(L.LightningModule):
    def __init__(self, classes):
        super().__init__()
        self.backbone = timm.create_model("vit_base_patch16_clip_224.openai", pretrained=True, num_classes=0).requires_grad_(False)
        self.head = nn.Linear(self.backbone.num_features, classes)

    def forward(self, x):
        self.backbone.eval()
        with torch.no_grad():
            feats = self.backbone(x)
        return self.head(feats)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_acc", (self(x).argmax(1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.head.parameters(), lr=1e-3)


if __name__ == "__main__":
    train = datasets.ImageFolder("pets/train", build_transform(True))
    val = datasets.ImageFolder("pets/val", build_transform(False))  #@
    L.Trainer(max_epochs=10).fit(Probe(len(train.classes)), DataLoader(train, 64, shuffle=True), DataLoader(val, 128))
