import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torchvision
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import transforms as T


def build_loader(split, batch_size):
    aug = [T.RandomCrop(32, 4), T.RandomHorizontalFlip()] if split == "train" else []
    tf = T.Compose([*aug, T.ToTensor(), T.Normalize((0.507, 0.487, 0.441), (0.267, 0.256, 0.276))])
    dataset = torchvision.datasets.CIFAR100("data", split == "train", tf)
    sampler = DistributedSampler(dataset, shuffle=split == "train", drop_last=split == "train")  #@
    return DataLoader(dataset, batch_size, sampler=sampler, num_workers=4, pin_memory=True)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    stats = torch.zeros(2, device=device)
    for x, y in loader:
        stats[0] += (model(x.to(device)).argmax(1) == y.to(device)).sum()
        stats[1] += len(y)
    dist.all_reduce(stats)
    return (stats[0] / stats[1]).item()


def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local)
    torch.cuda.set_device(device)
    torch.manual_seed(0)
    train, test = build_loader("train", 128), build_loader("test", 256)
    model = DistributedDataParallel(torchvision.models.resnet18(num_classes=100).to(device), [local])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [60, 90], 0.1)
    for epoch in range(100):  #@
        model.train()
        for x, y in train:  #@
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        scheduler.step()
        acc = evaluate(model, test, device)
        if dist.get_rank() == 0:
            print(epoch, acc)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
