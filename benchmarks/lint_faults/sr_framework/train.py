"""python train.py -opt options/x2_small.yml"""
import argparse
import logging
import os

import torch
import yaml
from torch.utils.data import DataLoader

from upscale import archs, losses, sr_model  # noqa: F401  fill the registries
from upscale.dataset import PairedDataset
from upscale.registry import MODEL_REGISTRY


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("-opt", type=str, required=True, help="Path to option YAML file.")
    args = parser.parse_args()
    with open(args.opt) as f:
        return yaml.safe_load(f)


def create_loaders(opt):
    train_opt, val_opt = opt["datasets"]["train"], opt["datasets"]["val"]
    train_set = PairedDataset(train_opt, opt["scale"], seed=0, train=True)
    val_set = PairedDataset(val_opt, opt["scale"], seed=10_000, train=False)
    train_loader = DataLoader(train_set, batch_size=train_opt["batch_size"], shuffle=True, drop_last=True)
    return train_loader, DataLoader(val_set, batch_size=1, shuffle=False)


def endless(loader):
    while True:
        yield from loader


def main():
    opt = parse_options()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s: %(message)s")
    logger = logging.getLogger("upscale")
    torch.manual_seed(opt["manual_seed"])
    train_loader, val_loader = create_loaders(opt)
    model = MODEL_REGISTRY.get(opt["model_type"])(opt)
    root = os.path.join(opt["path"]["experiments_root"], opt["name"])
    stream = endless(train_loader)
    best_psnr = 0.0
    for current_iter in range(1, opt["train"]["total_iter"] + 1):
        model.optimize_parameters([next(stream) for _ in range(opt["train"]["accum_iter"])])
        model.update_learning_rate()
        if current_iter % opt["logger"]["print_freq"] == 0:
            message = " ".join(f"{k}: {v.item():.4e}" for k, v in model.log_dict.items())
            logger.info("[iter:%8d] %s", current_iter, message)
        if current_iter % opt["val"]["val_freq"] == 0:
            psnr = model.validation(val_loader, current_iter)
            if psnr > best_psnr:
                best_psnr = psnr
                model.save(current_iter, root)


if __name__ == "__main__":
    main()
