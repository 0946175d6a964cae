"""Rules whose slug has changed: what older record files and files of known differences say is read as the new one."""

from __future__ import annotations

from typing import Any

RENAMED: dict[str, str] = {
    "documents/claims": "articles/claims",
    "errors/not-torn": "errors/atomic",
    "errors/goes-on": "errors/recovers",
    "lifetime/walked-only": "lifetime/traversed-only",
    "modes/switch-refused": "modes/toggle-refused",
}
"""Old slug to new slug."""

RULE_KEYS = ("rule", "relation")
"""The keys under which a record, or a replay file of two programs, names a rule."""


def current_slug(slug: str) -> str:
    """The slug that a rule has today."""
    return RENAMED.get(slug, slug)


def with_current_slugs(form: Any) -> Any:
    """A record as JSON with today's slugs in the place of old ones, wherever it names a rule."""
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
