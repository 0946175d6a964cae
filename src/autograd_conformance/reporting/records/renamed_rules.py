"""Renamed rules: old slugs in record files and files of known differences are read as the current ones."""

from __future__ import annotations

from typing import Any

RENAMED: dict[str, str] = {
    "documents/claims": "articles/claims",
    "errors/not-torn": "errors/atomic",
    "errors/goes-on": "errors/recovers",
    "lifetime/walked-only": "lifetime/traversed-only",
    "modes/switch-refused": "modes/toggle-refused",
}
"""The current slug of each renamed rule, by the old slug."""

RULE_KEYS = ("rule", "relation")
"""Keys of records and replay files whose value is the slug of a rule."""


def current_slug(slug: str) -> str:
    """Current slug of a rule, given its current or an old one."""
    return RENAMED.get(slug, slug)


def with_current_slugs(form: Any) -> Any:
    """JSON form of a record in which all old slugs of rules are replaced by the current ones."""
    match form:
        case dict():
            made = {
                current_slug(key): current_slug(v) if key in RULE_KEYS and isinstance(v, str) else with_current_slugs(v)
                for key, v in form.items()
            }
            if form.get("record") == "rule" and form.get("rule") in RENAMED:
                made["family"] = made["rule"].partition("/")[0]
            return made
        case list():
            return [with_current_slugs(each) for each in form]
        case _:
            return form
