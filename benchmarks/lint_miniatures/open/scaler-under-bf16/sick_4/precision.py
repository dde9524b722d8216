from dataclasses import dataclass

import torch


@dataclass
class PrecisionConfig:
    dtype: torch.dtype = torch.bfloat16 #@
    init_scale: float = 2.0 ** 14


def make_precision(cfg):
    autocast = torch.autocast(device_type="cuda", dtype=cfg.dtype) #@
    scaler = torch.amp.GradScaler("cuda", init_scale=cfg.init_scale) #@
    return autocast, scaler
