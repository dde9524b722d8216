import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader
from torchvision import transforms as T

TRAIN_TF = T.Compose([
    T.RandomResizedCrop(224, scale=(0.5, 1.0)),
    T.RandomHorizontalFlip(),
    T.ToTensor(),
    T.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),  #@
])
EVAL_TF = T.Compose([
    T.Resize(256),
    T.CenterCrop(224),
    T.ToTensor(),
    T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),  #@
])


def make_loader(split, batch_size):
    train = split == "train"
    ds = torchvision.datasets.ImageFolder(f"leaves/{split}", TRAIN_TF if train else EVAL_TF)
    return DataLoader(ds, batch_size, shuffle=train, drop_last=train, num_workers=4)


def accuracy(model, loader, device):
    model.eval()
    hits = []
    with torch.no_grad():
        for x, y in loader:
            hits.append((model(x.to(device)).argmax(1).cpu() == y).float())
    return torch.cat(hits).mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_loader, val_loader = make_loader("train", 64), make_loader("val", 128)
    model = torchvision.models.efficientnet_b0(num_classes=38).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    best = 0.0
    for epoch in range(30):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        acc = accuracy(model, val_loader, device)
        print(epoch, acc)
        if acc > best:
            best = acc
            torch.save(model.state_dict(), "leaves_best.pt")
