"""The report as one HTML file: markup and data by pure functions, behaviour and looks beside them.

page.py       `page(diagnosis)`, the whole file; `content(diagnosis)`, what a live page replaces
markup.py     the one place where text becomes HTML
charts.py     which curves are drawn together, in which order
curve_data.py a curve as numbers, thinned to what a screen shows
marks.py      the steps worth marking, and what each of them leads to
sections/     the parts of the page, one file per subject
page.js       draws the charts (uPlot, in vendored/) and joins them to the text
style.css     how it looks on a screen, dark or light, and on paper
"""
