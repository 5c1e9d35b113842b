/* Accessibility that Unfold lacks: keyboard focus and screen readers. */
(() => {
  "use strict";

  /** Screen readers would read icon names aloud. */
  function hush(root) {
    for (const icon of root.querySelectorAll(".material-symbols-outlined")) icon.setAttribute("aria-hidden", "true");
  }

  /** Name each group of check boxes by the label above it, which belongs to no single input. */
  function nameGroups(root) {
    for (const group of root.querySelectorAll(".ew-choices[role=group]:not([aria-labelledby])")) {
      let place = group;
      let label = null;
      while (!label && (place = place.parentElement)) {
        label = place.querySelector("legend, label:not(.ew-choices label)");
      }
      if (!label) continue;
      label.id ||= `${group.id}_label`;
      group.setAttribute("aria-labelledby", label.id);
    }
  }

  /** Name what Unfold leaves without a name, and say which part is the content. */
  function name() {
    const labels = {
      "#searchbar-submit": "Search",
      "#nav-sidebar a.shrink-0": "Start page",
      'a[href="#"][x-on\\:click^="showActions"]': "More actions",
      "#submit-row": "Save",
    };
    for (const [selector, label] of Object.entries(labels)) {
      for (const element of document.querySelectorAll(selector)) element.setAttribute("aria-label", label);
    }
    document.getElementById("submit-row")?.setAttribute("role", "region"); // it is outside of the content
    document.getElementById("content")?.parentElement.setAttribute("role", "main");
    document.getElementById("header-inner")?.parentElement.parentElement.setAttribute("role", "banner");
    document.getElementById("nav-sidebar-inner")?.setAttribute("aria-label", "Menu");
    for (const bar of document.querySelectorAll('[class~="lg:scrollable-top"]:not(#submit-row, :has(#submit-row))')) {
      Object.assign(bar, { role: "region", ariaLabel: "End of the list" });
    }
  }

  /** Name the parts that scroll, once their own script has made them. */
  function nameScrolling() {
    for (const part of document.querySelectorAll(".simplebar-content-wrapper")) {
      part.setAttribute("aria-label", part.closest("#nav-sidebar") ? "Entries of the menu" : "Table");
    }
  }
  window.addEventListener("load", nameScrolling);

  /** Act as soon as a condition is met; Alpine shows and hides a moment later. */
  function once(isTime, act, tries = 50) {
    setTimeout(() => {
      if (isTime()) act();
      else if (tries) once(isTime, act, tries - 1);
    }, 40);
  }

  /** Make what only a pointer can press a button. */
  function asButton(element) {
    Object.assign(element, { role: "button", tabIndex: 0 });
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      element.click();
    });
  }

  /** The menu with one's name, which Unfold opens by a click alone. */
  function menuOfThePerson() {
    const opener = document.querySelector('[x-on\\:click="openUserLinks = !openUserLinks"]');
    const menu = opener?.previousElementSibling;
    if (!menu) return;
    [opener, ...menu.querySelectorAll("a:not([href])")].forEach(asButton);
    Object.assign(opener, { ariaExpanded: "false", ariaHasPopup: "true" });
    new MutationObserver(() => {
      opener.ariaExpanded = String(menu.style.display !== "none");
    }).observe(menu, { attributeFilter: ["style"] });
    const entries = menu.querySelectorAll("a, button");
    opener.addEventListener("keydown", (event) => {
      const opens = (event.key === "Enter" || event.key === " ") && opener.ariaExpanded === "false";
      if (opens) once(() => entries[0].offsetParent, () => entries[0].focus());
    });
    opener.parentElement.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || opener.ariaExpanded === "false") return;
      opener.click();
      opener.focus();
    });
  }

  // Dialogs take the focus, keep it, and give it back.

  const INPUTS = "input:not([type=hidden]), select, textarea";
  let opener = null;

  function shownDialog() {
    const dialog = document.getElementById("dialog");
    return dialog?.offsetParent ? dialog : null;
  }

  /** What Tab reaches in a dialog, shown already or not: nothing in a closed fold. */
  function stopsOf(dialog, selector) {
    return [...dialog.querySelectorAll(selector)].filter((stop) =>
      !stop.closest("details:not([open]) > :not(summary)")
    );
  }

  /** Mark an element as a dialog, unless it is marked already; then its text is read out first. */
  function enter(dialog) {
    const isOurs = dialog.hasAttribute("role");
    if (!isOurs) {
      const title = dialog.querySelector("h1, h2");
      if (title) title.id ||= "dialog-title";
      dialog.setAttribute("role", "dialog");
      dialog.setAttribute("aria-modal", "true");
      dialog.setAttribute("aria-labelledby", title?.id ?? "");
    }
    const first = isOurs ? dialog : stopsOf(dialog, INPUTS)[0] ?? dialog.querySelector("button[type=submit]");
    // Hidden elements cannot be focused, and focus already inside stays there.
    once(shownDialog, () => {
      if (!dialog.contains(document.activeElement)) (dialog.querySelector("[aria-invalid=true]") ?? first)?.focus();
    });
  }

  function keepInside(event, dialog) {
    const stops = stopsOf(dialog, `a[href], button, summary, ${INPUTS}`);
    const [edge, other] = event.shiftKey ? [stops[0], stops.at(-1)] : [stops.at(-1), stops[0]];
    const at = document.activeElement;
    if (at !== edge && dialog.contains(at) && !(event.shiftKey && at === dialog)) return;
    event.preventDefault();
    other?.focus();
  }

  /** After the dialog is gone. */
  function giveBack() {
    once(() => !shownDialog(), () => {
      opener?.focus();
      opener = null;
    });
  }

  document.addEventListener("htmx:beforeRequest", (event) => {
    const { target, elt } = event.detail;
    if (target.id === "modal-content" && !target.contains(elt)) opener = elt;
  });
  document.addEventListener("keydown", (event) => {
    const dialog = shownDialog();
    if (dialog && event.key === "Tab") keepInside(event, dialog);
    if (dialog && event.key === "Escape") giveBack();
  });
  document.addEventListener("click", () => {
    if (shownDialog()) giveBack();
  }, true);

  hush(document);
  nameGroups(document);
  name();
  menuOfThePerson();
  // Browsers ignore `autofocus` if something had the focus before the page was complete.
  document.querySelector("[autofocus]")?.focus();
  document.addEventListener("htmx:afterSwap", (event) => {
    hush(event.target);
    nameGroups(event.target);
    const dialog = event.target.id === "modal-content" && document.getElementById("dialog");
    if (dialog) enter(dialog);
  });
  // A form with errors replaces itself; focus the first error once settled.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "dialog-form") event.target.querySelector("[aria-invalid=true]")?.focus();
  });

  // The guide beside a form: what is linked in it never replaces the form.

  document.addEventListener("htmx:afterSwap", ({ target, detail }) => {
    if (!target.matches(".ew-guide-page")) return;
    const section = detail.requestConfig.elt.hash.slice(1);
    (section && target.querySelector(`#${CSS.escape(section)}`) || target).scrollIntoView();
    target.focus({ preventScroll: true });
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest(".ew-guide-page a");
    if (!link) return;
    link.target = "_blank";
    if (!link.getAttribute("href").startsWith("#")) return;
    event.preventDefault();
    document.getElementById(link.hash.slice(1))?.scrollIntoView();
  });
  document.addEventListener("keydown", (event) => {
    const guide = event.key === "Escape" && event.target.closest?.(".ew-guide[open]");
    if (!guide) return;
    guide.open = false;
    guide.querySelector("summary").focus();
  });

  // Slow actions show progress, and a second click does not start them again.

  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (!button?.dataset.busy) return;
    // Not disabled: then its value would not be sent.
    if (button.ariaDisabled === "true") event.preventDefault();
    button.ariaDisabled = "true";
    const note = document.getElementById(button.getAttribute("aria-describedby"));
    note.dataset.before ??= note.textContent;
    note.textContent = button.dataset.busy;
  });
  // Forms of dialogs: HTMX would send the second click after the first.
  let sent = new WeakSet();
  document.addEventListener("submit", (event) => {
    if (!event.target.hasAttribute("hx-post")) return;
    if (sent.has(event.target)) {
      event.preventDefault();
      event.stopPropagation();
    }
    sent.add(event.target);
  }, true);
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (!detail.xhr.getResponseHeader("HX-Redirect")) sent.delete(detail.elt);
  });
  window.addEventListener("pageshow", () => {
    // The page was restored by the back button.
    sent = new WeakSet();
    for (const button of document.querySelectorAll("[data-busy][aria-disabled]")) {
      button.ariaDisabled = null;
      const note = document.getElementById(button.getAttribute("aria-describedby"));
      note.textContent = note.dataset.before;
    }
  });
})();
