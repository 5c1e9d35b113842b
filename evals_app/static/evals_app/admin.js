/* What Unfold leaves out for people who do not use a mouse or do not see the page. */
(() => {
  "use strict";

  /** Icons are words in a font: a screen reader would read them aloud. */
  function hush(root) {
    for (const icon of root.querySelectorAll(".material-symbols-outlined")) icon.setAttribute("aria-hidden", "true");
  }

  /** A dialog takes the focus, and says that it is one; unless it does so itself. */
  function enter(dialog) {
    if (!dialog || dialog.hasAttribute("role")) return;
    const title = dialog.querySelector("h1, h2");
    if (title) title.id ||= "dialog-title";
    dialog.setAttribute("role", "dialog");
    dialog.setAttribute("aria-modal", "true");
    dialog.setAttribute("aria-labelledby", title?.id ?? "");
    const inputs = "input:not([type=hidden]), select, textarea";
    // Alpine shows it a moment later, and nothing hidden can be focused.
    setTimeout(() => (dialog.querySelector(inputs) ?? dialog.querySelector("button[type=submit]"))?.focus(), 60);
  }

  hush(document);
  document.addEventListener("htmx:afterSwap", (event) => {
    hush(event.target);
    // What Unfold shows in the middle of the page.
    if (event.target.id === "modal-content") enter(event.target.querySelector("#dialog"));
  });
})();
