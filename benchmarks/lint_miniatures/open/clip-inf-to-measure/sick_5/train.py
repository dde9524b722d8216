import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter

from utils import grad_norm


class Trainer:
    def __init__(self, model, dataset, lr=2e-4):
        self.model = model.cuda()
        self.loader = DataLoader(dataset, batch_size=32, shuffle=True)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cuda")
        self.writer = SummaryWriter("runs/sr")
        self.global_step = 0

    def train_step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.l1_loss(self.model(x), y)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        norm = grad_norm(self.model.parameters()) #@
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.global_step += 1
        if self.global_step % 100 == 0:
            self.writer.add_scalar("loss", loss.item(), self.global_step)
            self.writer.add_scalar("grad_norm", norm.item(), self.global_step)

    def fit(self, epochs):
        for _ in range(epochs):
            for x, y in self.loader:
                self.train_step(x.cuda(), y.cuda())


images = torch.rand(500, 3, 48, 48)
net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1))
Trainer(net, TensorDataset(images, images.flip(-2))).fit(20)
