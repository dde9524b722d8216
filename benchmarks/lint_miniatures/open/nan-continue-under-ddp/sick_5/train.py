import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class NonFiniteLoss(RuntimeError):
    pass


def checked(loss): #@
    if not torch.isfinite(loss):
        raise NonFiniteLoss(f"loss is {loss.item()}") #@
    return loss


def main(epochs=5):
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    ds = TensorDataset(torch.randn(2560, 12), torch.randint(0, 2, (2560,)).float())
    sampler = DistributedSampler(ds, shuffle=True)
    loader = DataLoader(ds, batch_size=40, sampler=sampler)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 1)).cuda(rank), [rank])
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            opt.zero_grad()
            try:
                logits = model(x.cuda(rank)).squeeze(1)
                checked(nn.functional.binary_cross_entropy_with_logits(logits, y.cuda(rank))).backward() #@
            except NonFiniteLoss as err: #@
                print(err)
                continue #@
            opt.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
