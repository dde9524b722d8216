"""watch: a run that is still being written, judged again and again by the same line as `diagnose`.

    followed_run.py   reads what was added to the run's files
    heartbeat.py      how far the run is, how fast, and whether it stands still
    vital_signs.py    the few curves a person looks at
    guard_words.py    what Guard told from inside the training
    alerts.py         what is worth telling, once
    state.py          everything that is shown
    watch.py          one look at the run
    pace.py           how long to rest after a look
    session.py        one look after the other: show, tell, rest
    spoken.py         sentences for people
    screen.py         what a terminal shows
    plain_lines.py    what a pipe or a file gets
    json_lines.py     what a program gets
    views.py          which of them somebody sees
    bell.py           rings
    quota.py          how often a webhook may be called
    webhook.py        tells somebody elsewhere, in a thread of its own

What is told, and when, is decided by pure steps: heartbeat, vital_signs, alerts, pace and quota.
"""
