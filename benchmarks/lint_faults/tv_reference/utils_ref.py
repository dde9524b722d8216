import datetime
import time
from collections import defaultdict, deque

import torch
import torch.distributed as dist


class SmoothedValue:
    """Tracks a series of values over a window."""

    def __init__(self, window_size=20):
        self.deque = deque(maxlen=window_size)

    def update(self, value):
        self.deque.append(value.detach() if torch.is_tensor(value) else torch.tensor(float(value)))

    @property
    def median(self):
        return torch.stack([v.float().cpu() for v in self.deque]).median().item()


class MetricLogger:
    def __init__(self):
        self.meters = defaultdict(SmoothedValue)

    def update(self, **kwargs):
        for k, v in kwargs.items():
            self.meters[k].update(v)

    def log_every(self, iterable, print_freq, header):
        start = time.time()
        for i, obj in enumerate(iterable):
            yield obj
            if i % print_freq == 0:
                line = "  ".join(f"{name}: {meter.median:.4f}" for name, meter in self.meters.items())
                print(f"{header} [{i}/{len(iterable)}] {line}")
        print(f"{header} total time: {datetime.timedelta(seconds=int(time.time() - start))}")


def is_distributed():
    return dist.is_available() and dist.is_initialized()


def reduce_across_processes(val, device):
    t = torch.as_tensor(val, device=device, dtype=torch.float64)
    if is_distributed():
        dist.barrier()
        dist.all_reduce(t)
    return t


def save_on_master(*args, **kwargs):
    if not is_distributed() or dist.get_rank() == 0:
        torch.save(*args, **kwargs)
