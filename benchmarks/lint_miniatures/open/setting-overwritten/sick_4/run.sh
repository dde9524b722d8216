#!/bin/bash
python run_hf.py --output_dir out --per_device_train_batch_size 16 --max_length 256 \
  --learning_rate 5e-6 --num_train_epochs 8  #@
