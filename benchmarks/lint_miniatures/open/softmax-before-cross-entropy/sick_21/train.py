import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GenreNet(nn.Module):
    def __init__(self, n_classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.AdaptiveAvgPool2d(4))
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Dropout(0.3),
            nn.Linear(64, n_classes), nn.Softmax(dim=1))  #@

    def forward(self, x):
        return self.classifier(self.features(x))


class Learner:
    def __init__(self, model, device):
        self.model = model.to(device)
        self.device = device
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.criterion = nn.CrossEntropyLoss()  #@

    def fit_epoch(self, loader):
        self.model.train()
        for spec, genre in loader:
            spec, genre = spec.to(self.device), genre.to(self.device)
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(spec), genre)  #@
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def accuracy(self, loader):
        self.model.eval()
        hits = [(self.model(s.to(self.device)).argmax(1).cpu() == g).float() for s, g in loader]
        return torch.cat(hits).mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    learner = Learner(GenreNet(), "cuda" if torch.cuda.is_available() else "cpu")
    train = DataLoader(TensorDataset(*torch.load("gtzan_train.pt")), 32, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("gtzan_valid.pt")), 64)
    for epoch in range(50):
        learner.fit_epoch(train)
        print(f"epoch {epoch}: {learner.accuracy(valid):.3f}")
