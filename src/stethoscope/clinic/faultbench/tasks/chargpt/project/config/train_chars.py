# a tiny GPT on lines of characters, a few seconds on a laptop
out_dir = 'out-chars'
eval_interval = 32
eval_rows = 96  # of each split
log_interval = 8
ckpt_interval = 64
log_format = 'text'  # text, bar, csv, jsonl or tensorboard
log_lr = True
log_grad_norm = True
log_time = False

# data
batch_size = 16  # sequences per update, over all micro steps
gradient_accumulation_steps = 2
block_size = 32
max_rows = 0  # lines to train with, 0 for all
easy_iters = 0  # begin with lines of the first two kinds only

# model
n_layer = 2
n_head = 4
n_embd = 48
dropout = 0.0
bias = False

# adamw
learning_rate = 5e-3
max_iters = 256
weight_decay = 0.1
beta1 = 0.9
beta2 = 0.99
adam_eps = 1e-8
grad_clip = 1.0  # 0.0 is none

# learning rate decay
decay = 'cosine'  # cosine, linear or none
warmup_iters = 24
lr_decay_iters = 256  # should be max_iters
min_lr_frac = 0.05

dtype = 'float32'  # or bfloat16
ema_decay = 0.0
