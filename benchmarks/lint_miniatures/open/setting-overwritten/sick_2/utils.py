import random

import numpy as np
import torch
import yaml

DEFAULTS = {"lr": 1e-3, "batch_size": 32, "epochs": 10, "weight_decay": 0.0, "seed": 0}


def load_config(path):
    with open(path) as f:
        cfg = yaml.safe_load(f)
    cfg.update(DEFAULTS)  #@
    return cfg


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
