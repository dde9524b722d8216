"""python train.py -opt options/gatenet_tiny.yml   or   torchrun --nproc_per_node 4 train.py -opt ..."""
import argparse
import random

import torch
import yaml

from deblur.data import build_loader
from deblur.deblur_model import DeblurModel
from deblur.dist_util import init_dist


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("-opt", required=True)
    parser.add_argument("--resume", default=None, help="overrides path.resume_state")
    args = parser.parse_args()
    with open(args.opt) as f:
        opt = yaml.safe_load(f)
    if args.resume is not None:
        opt["path"]["resume_state"] = args.resume
    return opt


def train_pipeline():
    opt = parse_options()
    rank, world = init_dist()
    random.seed(opt["manual_seed"] + rank)
    torch.manual_seed(opt["manual_seed"] + rank)

    train_loader, sampler = build_loader(opt["datasets"]["train"], "train", rank, world)
    val_loader, _ = build_loader(opt["datasets"]["val"], "val", rank, world)
    model = DeblurModel(opt)
    epoch, current_iter = 0, 0
    if opt["path"]["resume_state"]:
        epoch, current_iter = model.resume_training(opt["path"]["resume_state"])

    total_iter = opt["train"]["total_iter"]
    while current_iter < total_iter:
        sampler.set_epoch(epoch)
        for data in train_loader:
            if current_iter >= total_iter:
                break
            current_iter += 1
            model.feed_data(data)
            model.optimize_parameters()
            if rank == 0 and current_iter % opt["logger"]["print_freq"] == 0:
                parts = " ".join(f"{k}: {v.item():.4f}" for k, v in model.log.items())
                print(f"[epoch {epoch}, iter {current_iter}, lr {model.scheduler.get_last_lr()[0]:.2e}] {parts}")
            if current_iter % opt["val"]["val_freq"] == 0:
                psnr = model.validation(val_loader)
                if rank == 0:
                    print(f"validation at {current_iter}: {psnr:.3f} dB")
        model.save(epoch, current_iter)
        epoch += 1


if __name__ == "__main__":
    train_pipeline()
