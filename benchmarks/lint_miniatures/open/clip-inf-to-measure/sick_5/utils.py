import torch

NO_CLIP = float("inf") #@


def grad_norm(parameters, norm_type=2.0):
    return torch.nn.utils.clip_grad_norm_(parameters, NO_CLIP, norm_type) #@
