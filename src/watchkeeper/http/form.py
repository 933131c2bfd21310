"""Forms: taken from our own pages only, bounded, and read before anybody looks at them."""

from __future__ import annotations

from hmac import compare_digest
from urllib.parse import parse_qsl, urlsplit

from fastapi import Request

from watchkeeper.errors import Invalid
from watchkeeper.http.access import FORM_BYTES_MAX
from watchkeeper.http.problems import Refused

FIELDS_MAX = 100
MEDIA = "application/x-www-form-urlencoded"
TOKEN = "csrf"


def refuse_other_sites(request: Request) -> None:
    """A form of another site is refused, whatever it carries.

    A browser says which site a form came from, in one header or, where the connection is not
    trusted, in the other. Whatever says neither is no browser, and has no cookie of anybody.
    """
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:
        is_ours = site in ("same-origin", "none")
    else:
        is_ours = origin is None or _host_of(origin) == request.headers.get("host", "").lower()
    if not is_ours:
        raise Refused(403, "cross_site", "the form came from another site")


def refuse_without_token(form: dict[str, str], expected: str) -> None:
    given = form.get(TOKEN, "").encode("utf-8", "replace")
    if not compare_digest(given, expected.encode()):
        raise Refused(403, "csrf", "the form is too old: load the page again")


async def read_form(request: Request, bytes_max: int = FORM_BYTES_MAX) -> dict[str, str]:
    """The fields, each once. A line is trimmed; a text of several lines stays as it is."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != MEDIA:
        raise Refused(415, "media_type", "a form is wanted")
    raw = await request.body()
    if len(raw) > bytes_max:
        raise Refused(413, "body_too_large", f"the form is larger than {bytes_max} bytes")
    try:
        pairs = parse_qsl(
            raw.decode(), keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="strict"
        )
    except ValueError:
        raise Invalid("the form cannot be read") from None
    if any("\0" in name or "\0" in value for name, value in pairs):
        raise Invalid("the form contains the character U+0000")
    return {name: _read(value) for name, value in pairs}


def own_path(path: str, otherwise: str = "/") -> str:
    """Where to go after a form: a page of ours, whatever the form says.

    Browsers take a backslash for a slash and leave out tabs and line ends: `/\\` and `//` name
    another site.
    """
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_ours else otherwise


def _read(value: str) -> str:
    return value.replace("\r\n", "\n") if "\n" in value else value.strip()


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None
