#!/usr/bin/env bash
set -e
BATCH=4
ACCUM=16 #@
python train.py --batch "$BATCH" --accum "$ACCUM" --epochs 5 #@
