#!/usr/bin/env bash
accelerate launch --multi_gpu --num_processes 8 train_accel.py
