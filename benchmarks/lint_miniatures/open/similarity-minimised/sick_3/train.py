import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

from losses import DiceLoss


class Trainer:
    def __init__(self, model, dataset, epochs=25):
        self.model = model
        self.epochs = epochs
        self.loader = DataLoader(dataset, batch_size=8, shuffle=True)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.bce = nn.BCEWithLogitsLoss()
        self.dice = DiceLoss() #@

    def run(self):
        self.model.train()
        for epoch in range(self.epochs):
            for image, mask in self.loader:
                logits = self.model(image)
                loss = self.bce(logits, mask) + self.dice(logits, mask) #@
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(epoch, loss.item())


masks = (torch.rand(300, 1, 48, 48) > 0.7).float()
images = masks + 0.3 * torch.randn_like(masks)
unet = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 1, 3, padding=1))
Trainer(unet, TensorDataset(images, masks)).run()
