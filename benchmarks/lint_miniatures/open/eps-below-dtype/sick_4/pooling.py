def masked_mean(hidden, mask):
    mask = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * mask).mean(1) / mask.mean(1).clamp(min=1e-9) #@
