"""A drawing as SVG text: classes only, no style attribute, no script, every text escaped.

So it stands in a page under the strictest content policy, and nothing that a tenant named can
become markup. Characters that XML forbids are shown by their code point.
"""

from __future__ import annotations

import re
from html import escape

from watchkeeper.charts.model import Dot, Drawing, Mark, Path, Rect, Text

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def svg(drawing: Drawing, name: str | None = None) -> str:
    """`name` becomes the root's id, and the ids of its title and description begin with it."""
    if name is not None and not _NAME.fullmatch(name):
        raise ValueError("name: letters, digits, - and _ only, beginning with a letter")
    size = f"0 0 {_n(drawing.width)} {_n(drawing.height)}"
    root = f'<svg xmlns="http://www.w3.org/2000/svg" class="wk-chart" role="img" viewBox="{size}"'
    root += f' width="{_n(drawing.width)}" height="{_n(drawing.height)}"'
    ids = ["", ""]
    if name is not None:
        root += f' id="{name}" aria-labelledby="{name}-title {name}-desc"'
        ids = [f' id="{name}-title"', f' id="{name}-desc"']
    head = f"<title{ids[0]}>{_t(drawing.title)}</title><desc{ids[1]}>{_t(drawing.summary)}</desc>"
    return f"{root}>{head}{''.join(_mark(mark) for mark in drawing.marks)}</svg>"


def _mark(mark: Mark) -> str:
    match mark:
        case Rect():
            place = f'x="{_n(mark.x)}" y="{_n(mark.y)}"'
            size = f'width="{_n(mark.width)}" height="{_n(mark.height)}"'
            return _shape("rect", f'class="wk-fill-{mark.tone}" {place} {size}', mark.says)
        case Dot():
            place = f'cx="{_n(mark.x)}" cy="{_n(mark.y)}" r="{_n(mark.radius)}"'
            return _shape("circle", f'class="wk-fill-{mark.tone}" {place}', mark.says)
        case Path():
            return _path(mark)
        case Text():
            classes = f'class="wk-fill-{mark.tone} wk-{mark.size}"'
            place = f'x="{_n(mark.x)}" y="{_n(mark.y)}" text-anchor="{mark.anchor}"'
            return f"<text {classes} {place}>{_t(mark.text)}</text>"


def _shape(kind: str, attributes: str, says: str | None) -> str:
    if says is None:
        return f"<{kind} {attributes}/>"
    return f"<{kind} {attributes}><title>{_t(says)}</title></{kind}>"


def _path(mark: Path) -> str:
    line = " ".join(f"{_n(x)},{_n(y)}" for x, y in mark.points)
    if mark.is_closed:
        return f'<polygon class="wk-fill-{mark.tone}" points="{line}"/>'
    return f'<polyline class="wk-line-{mark.tone} wk-{mark.stroke}" points="{line}"/>'


def _n(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _t(text: str) -> str:
    return escape(_FORBIDDEN.sub(lambda found: f"\\u{{{ord(found[0]):04X}}}", text))
