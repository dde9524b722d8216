import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from events import Engine

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Sequential(nn.Conv2d(1, 32, 3, 2), nn.BatchNorm2d(32), nn.ReLU(), nn.Dropout2d(0.1),
                      nn.Conv2d(32, 64, 3, 2), nn.BatchNorm2d(64), nn.ReLU(),
                      nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 26)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
train = DataLoader(TensorDataset(*torch.load("letters_train.pt")), 128, shuffle=True, drop_last=True)
valid = DataLoader(TensorDataset(*torch.load("letters_valid.pt")), 256)


def train_step(engine, batch):  #@
    x, y = (t.to(device) for t in batch)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()


trainer = Engine(train_step)


@trainer.on("started")
def prepare(engine):
    model.train()  #@


@trainer.on("epoch_completed")
def validate(engine):
    model.eval()  #@
    with torch.no_grad():
        hits = [(model(x.to(device)).argmax(1).cpu() == y).float() for x, y in valid]
    print(engine.epoch, torch.cat(hits).mean().item())  #@


trainer.run(train, epochs=25)
