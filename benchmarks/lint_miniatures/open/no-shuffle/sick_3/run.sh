#!/bin/bash
set -e
python train.py --batch_size 64 --epochs 30 --lr 0.0005  #@
