import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main(epochs=10):
    fabric = L.Fabric(accelerator="gpu", devices=4, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(1234)
    x = torch.rand(8000, 1, 28, 28)
    ds = TensorDataset(x, (x.mean((1, 2, 3)) * 1000).long() % 10)
    sampler = DistributedSampler(ds, num_replicas=fabric.world_size, rank=fabric.global_rank, shuffle=True, seed=7)  #@
    loader = fabric.setup_dataloaders(DataLoader(ds, batch_size=50, sampler=sampler), use_distributed_sampler=False)
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.GELU(), nn.Linear(128, 10))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    net, opt = fabric.setup(net, opt)
    for epoch in range(epochs):  #@
        net.train()
        total = torch.zeros((), device=fabric.device)
        for img, label in loader:  #@
            opt.zero_grad()
            loss = F.cross_entropy(net(img), label)
            fabric.backward(loss)
            opt.step()
            total += loss.detach()
        fabric.print(epoch, fabric.all_reduce(total / len(loader)).item())
    fabric.save("final.ckpt", {"model": net})


if __name__ == "__main__":
    main()
