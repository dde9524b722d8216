# a few seconds on a laptop
eval_interval = 4
eval_iters = 2
log_interval = 2
batch_size = 4
block_size = 16
max_iters = 6
warmup_iters = 2
lr_decay_iters = 6
gradient_accumulation_steps = 2
