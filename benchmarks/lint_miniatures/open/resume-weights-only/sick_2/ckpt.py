import torch


def save_checkpoint(path, net, opt, sched, epoch):
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict(), "epoch": epoch}, path)


def load_checkpoint(path, net):  #@
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"])  #@
    return state["epoch"] + 1  #@
