"""Every page there is, by walking the routes: a new one is covered without being named here."""

import re
from dataclasses import dataclass

from fastapi.routing import APIRoute

from tests.http.calls import Estate
from watchkeeper.http.access import Need
from watchkeeper.http.edge import STREAMS
from watchkeeper.http.page import PageRoute
from watchkeeper.http.pages import PAGES

OPEN = {"GET /static/{name}", "GET /login", "POST /login", "POST /logout"}
"""What one reaches without a session."""

SHARED = {"connector_id": "crm", "version": "0", "name": "trial", "shadow": "trial"}
"""Parts of an address that mean the same for every tenant."""
LOOKS: set[str] = set()
"""Forms that change nothing: a viewer has them too."""
NAMED_ELSE = {"/pulls/{name:path}": "pull"}
"""Where a part is not called by what it names."""
VERBS = {"deed": "pause", "answer": "approve", "act": "redrive"}


@dataclass(frozen=True)
class Walked:
    """One page: what it is called, what it needs, and the address of it for somebody."""

    method: str
    path: str
    need: Need

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def parts(self) -> list[str]:
        return re.findall(r"{(\w+)(?::\w+)?}", self.path)

    @property
    def owned(self) -> list[str]:
        """Parts that name something of a tenant."""
        if self.path in NAMED_ELSE:
            return self.parts
        return [part for part in self.parts if part not in SHARED and part not in VERBS]

    def address(self, whose: Estate) -> str:
        def filled(found: re.Match[str]) -> str:
            part = found[1]
            known = {f"{kind}_id": value for kind, value in whose.names.items()} | whose.names
            if self.path in NAMED_ELSE:
                return whose.names[NAMED_ELSE[self.path]]
            return (SHARED | VERBS | known).get(part, "nothing")

        return re.sub(r"{(\w+)(?::\w+)?}", filled, self.path)


ROUTES = [route for routes in PAGES for route in routes.routes if isinstance(route, APIRoute)]
EVERY = [
    Walked(method, route.path, route.need)
    for route in ROUTES
    if isinstance(route, PageRoute)
    for method in sorted(route.methods)
]
SHOWN = [one for one in EVERY if one.method == "GET" and one.path not in STREAMS]
SENT = [one for one in EVERY if one.method == "POST"]
