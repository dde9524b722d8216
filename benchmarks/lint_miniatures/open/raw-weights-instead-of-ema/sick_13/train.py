import timm
import torch
from timm.utils import ModelEmaV2
from torch.utils.data import DataLoader
from torchvision import datasets, transforms as T

import argparse

ap = argparse.ArgumentParser()
ap.add_argument("--data", required=True)
ap.add_argument("--model-ema-decay", type=float, default=0.9998)
ap.add_argument("--epochs", type=int, default=100)
args = ap.parse_args()
norm = T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
train_tf = T.Compose([T.RandomResizedCrop(224), T.ToTensor(), norm])
val_tf = T.Compose([T.Resize(256), T.CenterCrop(224), T.ToTensor(), norm])
train_dl = DataLoader(datasets.ImageFolder(f"{args.data}/train", train_tf), 64, shuffle=True)
val_dl = DataLoader(datasets.ImageFolder(f"{args.data}/val", val_tf), 128)


def validate(net, loader):
    net.eval()
    hits = 0
    with torch.inference_mode():
        for x, y in loader:
            hits += (net(x.cuda()).argmax(1) == y.cuda()).sum()
    return hits.item() / len(loader.dataset)


model = timm.create_model("resnet26", num_classes=100).cuda()
model_ema = ModelEmaV2(model, decay=args.model_ema_decay) #@
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(args.epochs):
    model.train()
    for x, y in train_dl:
        loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model_ema.update(model) #@
    print(epoch, "top1", validate(model, val_dl)) #@
torch.save(model.state_dict(), "final.pth") #@
