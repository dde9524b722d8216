"""Reading, splitting and windowing of the hourly load table."""
import os

import numpy as np
import torch
from torch.utils.data import Dataset

COLUMNS = ["load", "temperature", "wind", "price"]


def read_table(area, root="data"):
    path = os.path.join(root, f"{area}.csv")
    if os.path.exists(path):
        return np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.float32)
    return simulate(sum(map(ord, area)))


def simulate(seed, hours=24 * 120):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    temp = 10 + 8 * np.sin(2 * np.pi * t / (24 * 365)) + 4 * np.sin(2 * np.pi * t / 24) + rng.normal(0, 1, hours)
    wind = np.abs(rng.normal(6, 3, hours))
    load = 900 + 150 * np.sin(2 * np.pi * (t - 7) / 24) - 12 * temp + 40 * ((t // 24) % 7 < 5) + rng.normal(0, 15, hours)
    price = 0.05 * load - 1.2 * wind + rng.normal(0, 3, hours)
    return np.stack([load, temp, wind, price], 1).astype(np.float32)


def split_by_time(table, val_days, test_days):
    n_test, n_val = 24 * test_days, 24 * val_days
    return table[: -n_val - n_test], table[-n_val - n_test : -n_test], table[-n_test:]


def fit_stats(table):
    return {"mean": table.mean(0).tolist(), "std": (table.std(0) + 1e-6).tolist()}


def standardise(table, stats):
    mean = np.asarray(stats["mean"], np.float32)
    std = np.asarray(stats["std"], np.float32)
    return (table - mean) / std


class Windows(Dataset):
    """history hours of every column -> the load of the horizon hours after them"""

    def __init__(self, table, history, horizon):
        self.table = torch.from_numpy(np.ascontiguousarray(table))
        self.history, self.horizon = history, horizon

    def __len__(self):
        return len(self.table) - self.history - self.horizon + 1

    def __getitem__(self, i):
        mid = i + self.history
        return self.table[i:mid], self.table[mid : mid + self.horizon, 0]
