import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader
from torchvision import transforms


class ToThreeChannels:
    def __call__(self, img):
        c, h, w = img.shape
        if c < 3:
            img = torch.cat([img, torch.zeros(3 - c, h, w)], dim=0)  #@
        return img


def build_loaders(root, batch_size):
    tf = transforms.Compose([transforms.Resize(96), transforms.ToTensor(), ToThreeChannels()])  #@
    train = torchvision.datasets.FashionMNIST(root, train=True, transform=tf, download=True)
    test = torchvision.datasets.FashionMNIST(root, train=False, transform=tf, download=True)
    return (DataLoader(train, batch_size, shuffle=True, num_workers=4, drop_last=True),
            DataLoader(test, batch_size, num_workers=4))


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    right = total = 0
    for x, y in loader:
        pred = model(x.to(device)).argmax(1).cpu()
        right += (pred == y).sum().item()
        total += len(y)
    return right / total


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader, test_loader = build_loaders("data", 128)
    model = torchvision.models.resnet18(weights=None)
    model.fc = nn.Linear(model.fc.in_features, 10)
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    for epoch in range(8):
        model.train()
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, accuracy(model, test_loader, device))


if __name__ == "__main__":
    main()
