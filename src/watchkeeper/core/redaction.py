"""Taking secrets out of text that people will read: errors, notes, logs."""

from __future__ import annotations

import re

HIDDEN = "[redacted]"

# A text may come from anybody, so every pattern takes time in proportion to its length: a name is
# looked for where a word begins and nowhere else, and what was taken is never given back (`++`).
_NAMED = (
    r"(?<![\w-])(?=[\w-]*?(?:api[-_]?key|access[-_]?key|secret|token|passw(?:or)?d|pwd|passphrase"
    r"|credential|private[-_]?key|signature|cookie))[\w-]++"
)
# A message of ours about a field, such as "secret: must be 24 bytes": words follow, not a value.
_WORDS = (
    r"(?:is|are|must|has|have|may|cannot|does|needs|names|never|says|lies|there|the|this|its?|an?"
    r"|and|not?|only|name|policy|connectors) [a-z`\d\"'-]"
)
_PATTERNS = (
    # The order matters: what stands in a header goes whole, before its parts are looked at.
    (
        re.compile(
            r"(?i)((?:proxy-)?authorization[\"']?\s*+[:=]\s*+)(\"[^\"]*\"|'[^']*'|[^\r\n,}]+)"
        ),
        1,
    ),
    (re.compile(r"(?i)(\b(?:bearer|basic|digest|negotiate)\s++)[\w.~+/=:-]{6,}"), 1),
    (re.compile(r"(?i)(\b[a-z][a-z0-9+.-]{0,30}+://[^\s/:@]{0,256}+:)\S{1,2048}(?=@)"), 1),
    (
        re.compile(
            rf"(?i)({_NAMED}[\"']?\s*+[:=]\s*+)(?!(?<=: )(?-i:{_WORDS}))"
            r"(\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'|[^\s,;&\"'}\])]+)"
        ),
        1,
    ),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.S), 0),
    (re.compile(r"\b(?:sk|pk|rk|wk|wksk|whsec|xox[abprs]|gh[pousr]|glpat)[-_][\w-]{8,}"), 0),
    (re.compile(r"\bAKIA[0-9A-Z]{12,}\b"), 0),
    (re.compile(r"\beyJ[\w-]{8,}+\.[\w-]{4,}+\.[\w-]*"), 0),
)


def storable(text: str) -> str:
    """The text as both databases take it: no NUL, no lone surrogates."""
    text = text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return text.encode("utf-8", "replace").decode("utf-8")


def redacted(text: str) -> str:
    """The text without what looks like a secret, and storable."""
    text = storable(text)
    for pattern, kept in _PATTERNS:
        text = pattern.sub(rf"\1{HIDDEN}" if kept else HIDDEN, text)
    return text
