#!/bin/bash
# a comment with --lr 9
set -euo pipefail
LR=${LR:-3e-4}
export CUDA_VISIBLE_DEVICES=0,1 WANDB_NAME="run one"
GPUS=4
BS=$((GPUS * 8 / 2))
EXTRA='--warmup 100'
python prepare.py --out data
torchrun --standalone --nproc_per_node=$GPUS \
    train.py config/nano.py --lr "$LR" --batch_size=$BS $EXTRA "--name" 'a b' --tag=$GPUS"x"$LR \
    --path "dir with/$GPUS" --empty "" --dollar \$LR --tilde "it's" >out.log 2>&1
python eval.py
