"""Who is let in: only this machine, or only who brings the token of a server that others can reach."""

from __future__ import annotations

import hmac
import secrets
from typing import Any, Final

ALLOWED_HOSTS: Final = frozenset({"127.0.0.1", "localhost"})
"""A page of another site can make a browser call 127.0.0.1 under that site's name (DNS rebinding); it is refused."""

TOKEN_BYTES: Final = 24
COOKIE: Final = "graphbound_token"
TOKEN_WORD: Final = "token"


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def guard(flask_app: Any, token: str | None) -> None:
    """Answers 403 to whoever may not see the page. A token is taken from the address once and kept in a cookie, so
    that links within the page need not carry it.
    """
    from flask import abort, redirect, request  # comes with Dash

    @flask_app.before_request  # type: ignore[untyped-decorator]
    def _check() -> Any:
        if token is None:
            named = request.host.rpartition(":")[0] in ALLOWED_HOSTS or request.host in ALLOWED_HOSTS
            return None if named else abort(403)
        if _is_same(request.cookies.get(COOKIE), token):
            return None
        if not _is_same(request.args.get(TOKEN_WORD), token):
            abort(403)
        # The address that stays in the browser's history is the one without the token; what follows # it keeps itself.
        answer = redirect(request.path)
        answer.set_cookie(COOKIE, token, httponly=True, samesite="Strict")
        return answer


def _is_same(given: str | None, token: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())
