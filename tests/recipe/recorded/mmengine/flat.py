# ruff: noqa
a = 1
b = [a, a + 1, -a]
c = dict(d={"e": (1.5, "x"), "f": None}, g=[dict(h=1), []], i={})
k = a if a > 1 else "small"
n = 10**3
t = f"run_{a}"
u, v = 1e-3, not True
w = c["d"]["e"][0]
b += [5]
c["d"]["f"] = "set"
c.update(z=9)
