import torch


def get_optimizer(config, params):
    if config.optim.optimizer == "Adam":
        return torch.optim.Adam(params, lr=config.optim.lr, betas=(config.optim.beta1, 0.999), eps=config.optim.eps,
                                weight_decay=config.optim.weight_decay)
    raise NotImplementedError(f"optimizer {config.optim.optimizer} not supported")


def optimization_manager(config):
    """Returns an optimize_fn based on `config`."""

    def optimize_fn(optimizer, params, step, lr=config.optim.lr, warmup=config.optim.warmup,
                    grad_clip=config.optim.grad_clip):
        if warmup > 0:
            for g in optimizer.param_groups:
                g["lr"] = lr * min((step + 1) / warmup, 1.0)
        if grad_clip >= 0:
            torch.nn.utils.clip_grad_norm_(params, max_norm=grad_clip)
        optimizer.step()

    return optimize_fn


def get_sde_loss_fn(sde, train, difficulty=None, eps=1e-3):
    def loss_fn(model, batch, step):
        model.train(train)
        span = difficulty(step) if train and difficulty is not None else 1.0
        t = torch.rand(batch.shape[0], device=batch.device) * span * (1 - eps) + eps
        z = torch.randn_like(batch)
        std = sde.std(t)[:, None]
        score = model(batch + std * z, t)
        return ((score * std + z) ** 2).mean()

    return loss_fn


def get_step_fn(sde, train, optimize_fn=None, difficulty=None):
    """Create a one-step training or evaluation function."""
    loss_fn = get_sde_loss_fn(sde, train, difficulty)

    def step_fn(state, batch):
        model = state["model"]
        if train:
            optimizer = state["optimizer"]
            optimizer.zero_grad()
            loss = loss_fn(model, batch, state["step"])
            loss.backward()
            optimize_fn(optimizer, model.parameters(), step=state["step"])
            state["step"] += 1
            state["ema"].update(model.parameters())
        else:
            with torch.no_grad():
                ema = state["ema"]
                ema.store(model.parameters())
                ema.copy_to(model.parameters())
                loss = loss_fn(model, batch, state["step"])
                ema.restore(model.parameters())
        return loss.detach()

    return step_fn
