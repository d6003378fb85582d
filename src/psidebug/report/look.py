"""How every plot looks: the colours and the type of the page.

Colours are CSS variables of the page, so that a plot follows it into the dark and onto paper.
"""

from __future__ import annotations

from psidebug.report.plain import Plain

INK, SOFT, LINE, ACCENT, OTHER = "var(--ink)", "var(--soft)", "var(--line)", "var(--accent)", "var(--other)"
FONT = "system-ui, sans-serif"
CONFIG: Plain = {
    "background": None,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "domainColor": LINE,
        "tickColor": LINE,
        "gridColor": LINE,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": SOFT,
        "labelFontSize": 12,
        "orient": "top",
        "title": None,
        "symbolOpacity": 1,
    },
    "header": {"labelColor": INK, "labelFontSize": 13, "labelFontWeight": 600, "title": None, "labelAnchor": "start"},
    "text": {"color": INK, "fontSize": 12},
    "rule": {"color": SOFT},
}
