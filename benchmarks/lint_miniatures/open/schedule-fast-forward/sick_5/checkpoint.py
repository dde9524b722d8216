import torch


def store(path, net, opt, epoch):
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, path)


def restore(path, net, opt):
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"])
    opt.load_state_dict(state["opt"])
    return state["epoch"] + 1  #@
