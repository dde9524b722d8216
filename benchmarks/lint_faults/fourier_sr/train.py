import argparse
import os
import random

import torch
import yaml

from data import build_loaders
from sr_model import SRModel


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("-opt", default="options/train_x2.yml", help="path to the option file")
    parser.add_argument("--resume", default=None, help="a training state to go on from")
    args = parser.parse_args()
    with open(args.opt) as f:
        return yaml.safe_load(f), args


def train_pipeline():
    opt, args = parse_options()
    random.seed(opt["manual_seed"])
    torch.manual_seed(opt["manual_seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader, val_loader = build_loaders(opt)
    model = SRModel(opt, device)
    print(f"{opt['name']}: {sum(p.numel() for p in model.net_g.parameters())} parameters")

    current_iter, best_psnr = 0, float("-inf")
    if args.resume:
        current_iter, best_psnr = model.resume_training(args.resume)

    total_iter = opt["train"]["total_iter"]
    while current_iter < total_iter:
        for data in train_loader:
            current_iter += 1
            if current_iter > total_iter:
                break
            model.feed_data(data)
            model.optimize_parameters()
            if current_iter % opt["print_freq"] == 0:
                parts = ", ".join(f"{k} {v.item():.4f}" for k, v in model.log_dict.items())
                print(f"iter {current_iter}: {parts}, lr {model.scheduler.get_last_lr()[0]:.2e}")
            if current_iter % opt["val_freq"] == 0:
                psnr = model.validation(val_loader)
                print(f"iter {current_iter}: PSNR {psnr:.3f}")
                improved = psnr > best_psnr
                best_psnr = max(psnr, best_psnr)
                model.save(os.path.join(opt["save_dir"], "latest.state"), current_iter, best_psnr)
                if improved:
                    model.save(os.path.join(opt["save_dir"], "best.state"), current_iter, best_psnr)


if __name__ == "__main__":
    train_pipeline()
