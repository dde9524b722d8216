#!/usr/bin/env bash
MODEL_ARGS=(
    --num-layers 12   # deep enough
    --hidden-size "512"
    --betas 0.9 0.95
)
MODEL_ARGS+=(--seq-length 1024)
DIST="--nproc_per_node 8 --nnodes ${NNODES:-1}"
OPTS="
    --train-iters 500000 \
    --lr 6.0e-5
"
SAVE=/tmp/ckpt/$(basename x)
if [ "$GPUS" = "8" ]; then
    MICRO=8
else
    MICRO=4
fi
torchrun ${DIST} pretrain_gpt.py "${MODEL_ARGS[@]}" $OPTS --micro-batch-size ${MICRO} --save ${SAVE} | tee train.log
