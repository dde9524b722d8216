#!/usr/bin/env bash
set -e
CKPT=runs/sentiment/last.ckpt
python fit.py --epochs 20 --lr 2e-3 --resume-from "$CKPT"  #@
