import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader
from torchvision import transforms

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def get_loaders(root, batch_size=64, workers=4):
    train_tf = transforms.Compose([
        transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(),
        transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    valid_tf = transforms.Compose([
        transforms.Resize(256), transforms.CenterCrop(224),
        transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    sets = {
        "train": torchvision.datasets.ImageFolder(f"{root}/train", train_tf),
        "val": torchvision.datasets.ImageFolder(f"{root}/val", valid_tf),
    }
    return {k: DataLoader(v, batch_size=batch_size, num_workers=workers) for k, v in sets.items()}  #@


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    loaders = get_loaders("data/flowers")
    model = torchvision.models.resnet34(weights="IMAGENET1K_V1")
    model.fc = nn.Linear(512, 17)
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    for epoch in range(20):
        model.train()
        for x, y in loaders["train"]:  #@
            optimizer.zero_grad()
            loss = criterion(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        model.eval()
        hits = []
        with torch.no_grad():
            for x, y in loaders["val"]:
                hits.append((model(x.to(device)).argmax(1).cpu() == y).float())
        print(epoch, torch.cat(hits).mean().item())


if __name__ == "__main__":
    main()
