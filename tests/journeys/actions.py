"""Counts what a person does on a page: presses, fields that are filled in, choices, keys."""

from playwright.sync_api import Page

# Typing into a field is one action, however long, and so is the press that goes there first.
LISTEN = """(() => {
  if (window.isCounting) return;
  window.isCounting = true;
  const TEXT = "textarea, input:not([type=checkbox], [type=radio], [type=submit], [type=file])";
  let field = null;
  const tell = (what, target) => window.tellAction(`${what} ${(target.ariaLabel ?? target.labels?.[0]?.textContent
    ?? target.textContent ?? "").trim().replace(/\\s+/g, " ").slice(0, 60)}`);
  addEventListener("pointerdown", ({ target }) => {
    if (!target.matches(TEXT)) { field = null; tell("press", target.closest("a, button, label, summary, input") ?? target); }
  }, true);
  addEventListener("input", ({ target }) => {
    if (!target.matches(TEXT) || target === field || target !== document.activeElement) return;
    field = target;
    tell("fill in", target);
  }, true);
  addEventListener("change", ({ target }) => { if (target.matches("select")) tell("choose", target); }, true);
  addEventListener("keydown", ({ key, target }) => { if (["Enter", "Escape"].includes(key)) tell(key, target); }, true);
})()"""


def count_actions(page: Page) -> list[str]:
    """Return a list to which each action of a person on this page, or one that follows, is added."""
    actions: list[str] = []

    def note(action: str) -> None:
        actions.append(action)

    page.expose_function("tellAction", note)
    page.add_init_script(LISTEN)
    page.evaluate(LISTEN)
    return actions
