import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, accumulate_grad=4, lr=1e-4):
        self.model = model.cuda()
        self.accumulate_grad = accumulate_grad
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cuda")

    def forward_backward(self, x, y):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.smooth_l1_loss(self.model(x), y) #@
        self.scaler.scale(loss).backward() #@
        return loss.detach()

    def optimizer_step(self):
        self.scaler.unscale_(self.opt)
        nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            for i, (x, y) in enumerate(loader, start=1):
                loss = self.forward_backward(x.cuda(), y.cuda()) #@
                if i % self.accumulate_grad == 0 or i == len(loader):
                    self.optimizer_step()
            print(epoch, loss.item())


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(800, 16), torch.randn(800, 4))
    Trainer(nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))).fit(
        DataLoader(ds, batch_size=10, shuffle=True), 10
    )
