"""The dashboard: `stethoscope serve DIR`, a local web page over every run below a folder.

server.py     the address, the server, its end
app.py        which address gives which page
gate.py       who may ask for what: the token, Host and Origin, sizes, headers
houses.py     the folder that is served: what lies below it, and nothing else
crew.py       processes that examine runs; one that dies or hangs is an answer, too
scout.py      the process that finds the runs and sees them change
register.py   what is known of every run, and what to examine next
listing.py    which runs a list shows, in which order
following.py  one run that somebody looks at, followed while it trains
changes.py    what of a page changed since it was last sent
joined/       one file for each other room that is asked
pages/        one file per page
static/       scripts and styles, as files; nothing is built
"""
