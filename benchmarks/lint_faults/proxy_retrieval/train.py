"""torchrun --nproc_per_node N train.py [conf.yaml], or plainly python train.py"""
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
import yaml
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from nets import Embedder, Task

INPUTS, TEACHER_DIM = 12, 24


def toy_set(n, classes, seed):
    centres = torch.randn(classes, INPUTS, generator=torch.Generator().manual_seed(99))
    g = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % classes
    return TensorDataset(centres[labels] + 0.7 * torch.randn(n, INPUTS, generator=g), labels)


def gather(x):
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x.contiguous())
    return torch.cat(parts)


@torch.no_grad()
def recall_at_1(student, loader, device):
    """Over the whole set: every process embeds its share and gathers the others'."""
    student.eval()
    embs, labels = zip(*[(F.normalize(student(x.to(device)), dim=-1), y.to(device)) for x, y in loader])
    embs, labels = gather(torch.cat(embs)), gather(torch.cat(labels))
    sim = embs @ embs.T
    sim.fill_diagonal_(-1)
    return (labels[sim.argmax(1)] == labels).float().mean().item()


def grad_norm(params):
    return torch.nn.utils.get_total_norm([p.grad for p in params if p.grad is not None])


def train_step(task, teacher, batch, optimizer, scaler, device):
    x, labels = (t.to(device, non_blocking=True) for t in batch)
    with torch.no_grad():
        guide = teacher(x)
    optimizer.zero_grad(set_to_none=True)
    loss = task(x, labels, guide)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = grad_norm(task.parameters())
    scaler.step(optimizer)
    scaler.update()
    return loss.detach(), norm


def main(path="conf.yaml"):
    with open(path) as f:
        cfg = yaml.safe_load(f)
    for key, value in dict(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="0").items():
        os.environ.setdefault(key, value)
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    rank = dist.get_rank()

    train_set, val_set = toy_set(128, cfg["classes"], 1), toy_set(48, cfg["classes"], 2)
    sampler = DistributedSampler(train_set, shuffle=True, seed=cfg["seed"])
    train_loader = DataLoader(train_set, cfg["batch_size"], sampler=sampler, drop_last=True)
    val_loader = DataLoader(val_set, cfg["batch_size"], sampler=DistributedSampler(val_set, shuffle=False))

    torch.manual_seed(0)
    teacher = Embedder(INPUTS, 64, TEACHER_DIM).to(device).eval().requires_grad_(False)
    torch.manual_seed(cfg["seed"])
    task = Task(Embedder(INPUTS, 32, cfg["dim"], dropout=0.1), cfg, TEACHER_DIM, cfg["amp"] and cuda).to(device)
    proxies = list(task.metric.parameters())
    others = [*task.student.parameters(), *task.to_teacher.parameters()]
    optimizer = torch.optim.AdamW(
        [{"params": others}, {"params": proxies, "lr": cfg["proxy_lr"], "weight_decay": 0.0}], lr=cfg["lr"]
    )
    scaler = torch.amp.GradScaler(device.type, enabled=task.amp)
    ddp = DistributedDataParallel(task, device_ids=[device.index] if cuda else None)

    best = -1.0
    for epoch in range(cfg["epochs"]):
        sampler.set_epoch(epoch)
        ddp.train()
        for i, batch in enumerate(train_loader):
            loss, norm = train_step(ddp, teacher, batch, optimizer, scaler, device)
            if rank == 0 and i % cfg["log_every"] == 0:
                print(f"{epoch}/{i}: loss {loss.item():.3f} gradient {norm.item():.3f}")
        recall = recall_at_1(task.student, val_loader, device)
        if rank == 0:
            print(f"epoch {epoch}: R@1 {recall:.3f}")
        if recall > best:
            best = recall
            if rank == 0:
                os.makedirs(cfg["out"], exist_ok=True)
                torch.save(task.student.state_dict(), os.path.join(cfg["out"], "best.pt"))
        if recall >= cfg["stop_at_recall"]:
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
