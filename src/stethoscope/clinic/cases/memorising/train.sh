#!/usr/bin/env bash
# The settings of the run: bash train.sh SEED
set -euo pipefail

python train.py \
    --out runs/stripes \
    --seed "$1" \
    --note "first try" \
    --samples 512 \
    --epochs 40 \
    --batch-size 32 \
    --lr 2e-3 \
    --eps 1e-8 \
    --weight-decay 0.0 \
    --width 8 \
    --dropout 0.0 \
    --smoothing 0.0 \
    --save-every 5
