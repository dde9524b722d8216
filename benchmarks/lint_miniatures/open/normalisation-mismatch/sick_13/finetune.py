import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision.io import ImageReadMode, read_image
from torchvision.models import ResNet50_Weights, resnet50
from torchvision.transforms.functional import center_crop, normalize, resize


class Lesions(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        path, label = self.rows[i]
        img = center_crop(resize(read_image(path, ImageReadMode.RGB), 256), 224).float() #@
        return normalize(img, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]), label #@


def build_model(classes):
    net = resnet50(weights=ResNet50_Weights.DEFAULT)
    net.fc = nn.Linear(net.fc.in_features, classes)
    return net


def main():
    rows = torch.load("lesions.pt")
    loader = DataLoader(Lesions(rows), batch_size=32, shuffle=True, num_workers=4)
    net = build_model(7).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, weight_decay=0.05)
    net.train()
    for epoch in range(10):
        for img, label in loader:
            loss = nn.functional.cross_entropy(net(img.cuda()), label.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())
    torch.save(net.state_dict(), "lesions.pth")


if __name__ == "__main__":
    main()
