import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Molecules(Dataset):
    def __init__(self, path):
        self.rows = torch.load(path)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        r = self.rows[i]
        return r["atoms"], r["energy"], r["valid"]


def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    torch.manual_seed(0)
    data = Molecules("qm9_train.pt")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=128, sampler=sampler, num_workers=2)
    net = nn.Sequential(nn.Linear(290, 256), nn.SiLU(), nn.Linear(256, 256), nn.SiLU(), nn.Linear(256, 1))
    model = DDP(net.cuda(), device_ids=[local])
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)

    for epoch in range(50):
        sampler.set_epoch(epoch)
        model.train()
        for atoms, energy, valid in loader:
            atoms, energy = atoms[valid].cuda(), energy[valid].cuda()
            if valid.sum() < 16:  #@
                continue  #@
            optimizer.zero_grad(set_to_none=True)
            loss = F.l1_loss(model(atoms).squeeze(1), energy)
            loss.backward()
            optimizer.step()
        if dist.get_rank() == 0:
            torch.save(model.module.state_dict(), "qm9_last.pt")
            print(f"epoch {epoch} done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
