import torch
import torchvision
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class Sonar(Dataset):
    def __init__(self, path, sigma=0.03, train=True):
        blob = torch.load(path)
        self.scans, self.labels = blob["scans"], blob["labels"]
        self.sigma, self.train = sigma, train

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        scan = self.scans[i].float() / 255
        rgb = torch.stack([scan, scan, scan])  #@
        if self.train:
            rgb = rgb + self.sigma * torch.randn_like(rgb)  #@
        return rgb.clamp(0, 1), self.labels[i]


class Trainer:
    def __init__(self, device):
        self.device = device
        self.model = torchvision.models.mobilenet_v3_small(num_classes=6).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=5e-4)

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        hits = [(self.model(x.to(self.device)).argmax(1).cpu() == y).float() for x, y in loader]
        return torch.cat(hits).mean().item()

    def fit(self, train, valid, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in train:
                self.step(x.to(self.device), y.to(self.device))
            print(epoch, self.evaluate(valid))


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = Trainer("cuda" if torch.cuda.is_available() else "cpu")
    trainer.fit(DataLoader(Sonar("sonar_train.pt"), 32, shuffle=True, drop_last=True),
                DataLoader(Sonar("sonar_valid.pt", train=False), 64), epochs=25)
