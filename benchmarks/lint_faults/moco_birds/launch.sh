#!/usr/bin/env bash
# four GPUs of one node
set -e
torchrun --standalone --nproc_per_node 4 main.py --epochs 200 --batch 128 --clips 40000 --amp --clip 3.0 --out runs/birds "$@"
