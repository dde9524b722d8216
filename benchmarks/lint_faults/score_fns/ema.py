import torch


class ExponentialMovingAverage:
    def __init__(self, parameters, decay, use_num_updates=True):
        self.decay = decay
        self.num_updates = 0 if use_num_updates else None
        self.shadow_params = [p.clone().detach() for p in parameters if p.requires_grad]
        self.collected = []

    @torch.no_grad()
    def update(self, parameters):
        decay = self.decay
        if self.num_updates is not None:
            self.num_updates += 1
            decay = min(decay, (1 + self.num_updates) / (10 + self.num_updates))
        for s, p in zip(self.shadow_params, (p for p in parameters if p.requires_grad)):
            s.sub_((1.0 - decay) * (s - p))

    @torch.no_grad()
    def copy_to(self, parameters):
        for s, p in zip(self.shadow_params, (p for p in parameters if p.requires_grad)):
            p.copy_(s)

    def store(self, parameters):
        self.collected = [p.clone() for p in parameters]

    @torch.no_grad()
    def restore(self, parameters):
        for c, p in zip(self.collected, parameters):
            p.copy_(c)

    def state_dict(self):
        return dict(decay=self.decay, num_updates=self.num_updates, shadow_params=self.shadow_params)

    def load_state_dict(self, state_dict):
        self.decay = state_dict["decay"]
        self.num_updates = state_dict["num_updates"]
        self.shadow_params = state_dict["shadow_params"]
