"""The colours, once: a style sheet for the dashboard and numbers for the PDF.

Blue, amber and grey carry the verdicts: they stay apart for every kind of colour vision and in
grey print, because they differ in lightness too. Nothing is said by colour alone.
"""

from __future__ import annotations

from watchkeeper.charts.model import DASHES, STROKE_WIDTHS, TEXT_HEIGHTS, Stroke, Tone

LIGHT = {
    Tone.INK: "#1f2933",
    Tone.MUTED: "#5f6c7b",
    Tone.AXIS: "#9aa5b1",
    Tone.GRID: "#e6e9ed",
    Tone.PAPER: "#ffffff",
    Tone.SHADE: "#f4f6f8",
    Tone.BLUE: "#2166ac",
    Tone.AMBER: "#e69f00",
    Tone.GREY: "#b4bcc6",
    Tone.TEAL: "#00846b",
    Tone.VIOLET: "#7a5ba8",
    Tone.RED: "#c1442e",
    Tone.SKY: "#74b3e3",
    Tone.OLIVE: "#8f8b2b",
}
DARK = {
    Tone.INK: "#e8ebef",
    Tone.MUTED: "#9fabb8",
    Tone.AXIS: "#6b7785",
    Tone.GRID: "#2d353f",
    Tone.PAPER: "#15191e",
    Tone.SHADE: "#1f252c",
    Tone.BLUE: "#5aa2e6",
    Tone.AMBER: "#f2b844",
    Tone.GREY: "#7c8895",
    Tone.TEAL: "#3fc1a5",
    Tone.VIOLET: "#b197dd",
    Tone.RED: "#ef7d68",
    Tone.SKY: "#a5d3f5",
    Tone.OLIVE: "#c8c45c",
}


def rgb(tone: Tone) -> tuple[float, float, float]:
    """The light colour as three numbers from 0 to 1."""
    digits = LIGHT[tone][1:]
    red, green, blue = (int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4))
    return red, green, blue


def stylesheet() -> str:
    """What the SVG needs to have colours: served as a file, it passes any content policy."""
    light, dark = _variables(LIGHT), _variables(DARK)
    rules = [
        f".wk-chart{{{light};display:block;max-width:100%;height:auto;"
        "font-family:system-ui,sans-serif;font-variant-numeric:tabular-nums}",
        f"@media (prefers-color-scheme:dark){{.wk-chart{{{dark}}}}}",
        f'[data-theme="light"] .wk-chart{{{light}}}',
        f'[data-theme="dark"] .wk-chart{{{dark}}}',
    ]
    for tone in Tone:
        rules.append(f".wk-fill-{tone}{{fill:var(--wk-{tone});stroke:none}}")
        rules.append(f".wk-line-{tone}{{stroke:var(--wk-{tone});fill:none}}")
    for stroke, width in STROKE_WIDTHS.items():
        dashes = f";stroke-dasharray:{DASHES[0]:g} {DASHES[1]:g}" if stroke is Stroke.DASH else ""
        rules.append(
            f".wk-{stroke}{{stroke-width:{width:g}{dashes};stroke-linejoin:round;"
            "stroke-linecap:butt}"
        )
    rules += [f".wk-{size}{{font-size:{height:g}px}}" for size, height in TEXT_HEIGHTS.items()]
    rules.append("@media (forced-colors:active){.wk-chart text{fill:CanvasText}}")
    return "\n".join(rules) + "\n"


def _variables(colours: dict[Tone, str]) -> str:
    return ";".join(f"--wk-{tone}:{colour}" for tone, colour in colours.items())
