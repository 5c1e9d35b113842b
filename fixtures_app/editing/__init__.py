"""The form kit of the whole site: what every editing page is made of.

It has ordered rows inside rows, errors as a list of links, refusal of stale saves, drafts and units.
A field of a spec states what it is in `json_schema_extra`, and the page follows: `names` gives
suggestions, a unit decides what is shown, `advanced` folds an option away, `words` name choices.

Drafts: the browser keeps what a form would send and posts it with `_restore`; the answer is the page
as after an error, without errors. `EntityType.field_order` keeps the order of fields, because
PostgreSQL's JSON does not.
"""
