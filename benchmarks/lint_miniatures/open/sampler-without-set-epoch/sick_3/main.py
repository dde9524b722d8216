import argparse
import os

import torch
import torch.distributed as dist
from torch import nn

from loaders import build_loaders


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=3e-4)
    args = ap.parse_args()
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    train_dl, train_sampler, val_dl = build_loaders(args.batch_size)  #@
    if dist.get_rank() == 0:
        print("samples per rank:", len(train_sampler))
    net = nn.parallel.DistributedDataParallel(nn.Linear(16, 4).cuda(gpu), device_ids=[gpu])
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr)
    for epoch in range(args.epochs):  #@
        net.train()
        for x, y in train_dl:  #@
            opt.zero_grad()
            nn.functional.cross_entropy(net(x.cuda(gpu)), y.cuda(gpu)).backward()
            opt.step()
        net.eval()
        hits = torch.zeros(2, device=gpu)
        with torch.no_grad():
            for x, y in val_dl:
                pred = net(x.cuda(gpu)).argmax(1)
                hits += torch.stack([(pred == y.cuda(gpu)).sum(), torch.tensor(len(y), device=gpu)])
        dist.all_reduce(hits)
        if dist.get_rank() == 0:
            print(epoch, (hits[0] / hits[1]).item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
