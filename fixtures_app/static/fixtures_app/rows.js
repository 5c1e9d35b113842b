/* Rows of an editing page: add, remove, bring back, move; lines inside a field; the way to a problem.

   Everything is delegated from the document, so a row that is added later just works. Rows are never
   renumbered: a removed one keeps its index, and posts <prefix>-DELETE. */
(() => {
  "use strict";

  const FOCUSABLE = "select, textarea, input:not([type=hidden])";

  function button(icon, title, attributes) {
    const made = document.createElement("button");
    const all = { type: "button", class: "ew-icon", title, ...attributes };
    for (const [name, value] of Object.entries(all)) made.setAttribute(name, value);
    made.innerHTML = `<span class="material-symbols-outlined" aria-hidden="true">${icon}</span>`;
    return made;
  }

  /** What moves a row, and the menu of what else is done with it: the same in all rows, so pages do not
      repeat their HTML. */
  class Tools extends HTMLElement {
    connectedCallback() {
      if (this.firstChild) return; // the row was moved
      const { what, handle } = this.dataset;
      this.append(
        button("drag_indicator", "Drag to move, or press the arrow up or down", {
          class: `ew-icon ew-drag ${handle}`,
          "aria-label": `Move ${what}`,
          "data-move": "",
        }),
        button("more_horiz", "More", {
          "aria-label": `More for this ${what}`,
          "aria-haspopup": "menu",
          "aria-expanded": false,
          "data-row-menu": "",
        }),
      );
    }
  }
  customElements.define("ew-tools", Tools);

  const ENTRIES = [
    ["arrow_upward", "Move up", "data-move-up"],
    ["arrow_downward", "Move down", "data-move-down"],
    ["delete", "Remove", "data-remove"],
  ];

  /** Open or close the menu of a row, below its button or above it where there is no room. */
  function openMenu(opener) {
    // Not by `ariaExpanded`, which follows a moment later.
    const open = opener.parentElement.querySelector(":scope > .ew-menu:popover-open");
    if (open) {
      open.hidePopover();
      return;
    }
    const menu = document.createElement("div");
    Object.assign(menu, { className: "ew-menu", popover: "auto", role: "menu", ariaLabel: opener.ariaLabel });
    for (const [icon, label, action] of ENTRIES) {
      const entry = button(icon, "", { class: "ew-menu-entry", role: "menuitem", tabindex: -1, [action]: "" });
      entry.removeAttribute("title");
      entry.append(label);
      menu.append(entry);
    }
    menu.addEventListener("toggle", ({ newState }) => {
      opener.ariaExpanded = String(newState === "open");
      if (newState === "closed") menu.remove();
    });
    opener.after(menu);
    menu.showPopover({ source: opener });
    const at = opener.getBoundingClientRect();
    const isBelow = at.bottom + menu.offsetHeight + 80 < innerHeight; // above the bar at the bottom
    menu.style.left = `${scrollX + Math.max(8, at.right - menu.offsetWidth)}px`;
    menu.style.top = `${scrollY + (isBelow ? at.bottom : at.top - menu.offsetHeight)}px`;
    menu.firstChild.focus({ preventScroll: true });
  }

  /** The arrow keys in a menu, and on the handle of a row. */
  function steer(event) {
    const isUp = event.key === "ArrowUp";
    const menu = event.target.closest?.(".ew-menu");
    if (menu && event.key === "Tab") menu.hidePopover();
    if (!isUp && event.key !== "ArrowDown") return;
    if (menu) {
      const next = isUp ? event.target.previousSibling ?? menu.lastChild : event.target.nextSibling ?? menu.firstChild;
      next.focus();
    } else if (event.target.matches?.("[data-move]")) moveRow(event.target, isUp);
    else return;
    event.preventDefault();
  }
  document.addEventListener("keydown", steer);

  /** Give the content of a template with its placeholders filled in. */
  function fill(template, names) {
    const holder = document.createElement("template");
    holder.innerHTML = Object.entries(names).reduce(
      (html, [from, to]) => html.replaceAll(from, to),
      template.innerHTML,
    );
    return holder.content;
  }

  /** Unfold warns of unsaved changes once an input it knew from the start has fired. */
  function changed(element) {
    const form = element.closest("form");
    const known = form?.querySelector("input[name$=-TOTAL_FORMS]") ?? form?.querySelector("input");
    known?.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** Have a screen reader say something, even if it is what was said last. */
  function announce(text) {
    const region = document.querySelector("[data-announce]");
    if (!region) return;
    region.textContent = "";
    setTimeout(() => {
      region.textContent = text;
    }, 100);
  }

  const isRemoved = (row) => row.classList.contains("ew-removed");
  const kept = (list) => [...list.children].filter((row) => !isRemoved(row));
  const rowOf = (element) => element.closest("[data-row]");
  const nameOf = (row) => row.dataset.row || "Row";
  const NAMED = "[data-list]:not(tbody)"; // rows of tables are named by their cells

  /** Name the rows of a list by their place, for screen readers and in the headings of rows. */
  function nameRows(list) {
    const rows = kept(list);
    for (const row of list.children) {
      const name = isRemoved(row) ? `${nameOf(row)}, removed` : `${nameOf(row)} ${rows.indexOf(row) + 1}`;
      row.role = "group";
      row.ariaLabel = name;
      const heading = row.querySelector(":scope > * > [data-row-heading]");
      if (heading) heading.textContent = name;
    }
  }

  /** Open whatever hides an element, then put the focus there. */
  function reveal(element) {
    for (let at = element; at; at = at.parentElement?.closest("details")) {
      if (at.matches("details")) at.open = true;
    }
    const inside = element.querySelector(`[aria-invalid=true], .errorlist ~ input, ${FOCUSABLE}`);
    const target = element.matches(`${FOCUSABLE}, button, a`) ? element : inside;
    element.scrollIntoView({ block: "center" });
    target?.focus({ preventScroll: true });
  }

  /** Add a blank row to a set of rows, and give it. */
  function appendRow(formset) {
    const prefix = formset.dataset.formset;
    const total = document.getElementsByName(`${prefix}-TOTAL_FORMS`)[0];
    const shared = formset.dataset.blank;
    const template = shared
      ? document.querySelector(`template[data-blank-for="${shared}"]`)
      : formset.querySelector(":scope > template[data-blank]");
    const names = { __formset__: prefix, [`${prefix}-__prefix__`]: `${prefix}-${total.value}` };
    const row = fill(template, names).firstElementChild;
    const list = formset.querySelector(":scope > [data-list]");
    const last = [...list.children].find((other) => window.evalwellRows.staysLast?.(other));
    if (last) last.before(row);
    else list.append(row);
    total.value = Number(total.value) + 1;
    if (list.matches(NAMED)) nameRows(list);
    return row;
  }

  function addRow(button) {
    const row = appendRow(button.closest("[data-formset]"));
    row.scrollIntoView({ block: "center" });
    row.querySelector(FOCUSABLE)?.focus({ preventScroll: true });
    announce(`${nameOf(row)} ${kept(row.parentElement).indexOf(row) + 1} added.`);
    changed(row);
    return row;
  }

  function setRemoved(row, removed) {
    row.classList.toggle("ew-removed", removed);
    row.querySelector(`[name="${row.dataset.prefix}-DELETE"]`).disabled = !removed;
    const name = row.ariaLabel ?? nameOf(row);
    const list = row.parentElement;
    if (list.matches(NAMED)) nameRows(list);
    announce(removed ? `${name} removed.` : `${row.ariaLabel ?? nameOf(row)} restored.`);
    const tools = [...row.querySelectorAll("[data-row-menu], [data-remove]")];
    const next = removed
      ? row.querySelector(":scope > .ew-undo [data-undo]")
      : tools.find((tool) => rowOf(tool) === row);
    next.focus();
    changed(row);
  }

  function moveRow(button, up) {
    const row = rowOf(button);
    const other = up ? row.previousElementSibling : row.nextElementSibling;
    if (!other) {
      announce(`${nameOf(row)} is already ${up ? "first" : "last"}.`);
      return;
    }
    if (up) other.before(row);
    else other.after(row);
    if (row.parentElement.matches(NAMED)) nameRows(row.parentElement);
    button.focus();
    announce(`${nameOf(row)} is now number ${kept(row.parentElement).indexOf(row) + 1}.`);
    changed(row);
  }

  function addLine(lines, after) {
    const template = lines.querySelector(":scope > template");
    const line = template.content.firstElementChild.cloneNode(true);
    if (after) after.after(line);
    else template.before(line);
    line.querySelector(FOCUSABLE).focus();
  }

  function removeLine(button) {
    const lines = button.closest("[data-lines]");
    button.closest("[data-line]").remove();
    lines.querySelector(":scope > [data-line-add]").focus();
    announce("Removed.");
    changed(lines);
  }

  /** Save over what somebody else saved meanwhile. */
  function overwrite(button) {
    const form = button.closest("form");
    const input = document.createElement("input");
    Object.assign(input, { type: "hidden", name: "_overwrite", value: button.dataset.overwrite });
    form.append(input);
    form.requestSubmit();
  }

  const actions = {
    "[data-add]": addRow,
    "[data-row-menu]": openMenu,
    "[data-remove]": (button) => setRemoved(rowOf(button), true),
    "[data-undo]": (button) => setRemoved(rowOf(button), false),
    "[data-move-up]": (button) => moveRow(button, true),
    "[data-move-down]": (button) => moveRow(button, false),
    "[data-line-add]": (button) => addLine(button.closest("[data-lines]")),
    "[data-line-remove]": removeLine,
    "[data-overwrite]": overwrite,
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-problem]");
    if (link) {
      // Not by the address: Unfold takes what follows its # for the name of a tab.
      const target = document.getElementById(link.dataset.problem);
      if (target) {
        event.preventDefault();
        reveal(target);
      }
      return;
    }
    const button = event.target.closest("button");
    const selector = button && Object.keys(actions).find((each) => button.matches(each));
    if (!selector) return;
    const menu = button.closest(".ew-menu");
    menu?.hidePopover(); // the focus is at its button again
    actions[selector](menu?.previousElementSibling ?? button);
  });

  document.addEventListener("keydown", (event) => {
    const input = event.target;
    if (event.key !== "Enter" || !input.matches?.("[data-row] input, [data-line] input")) return;
    event.preventDefault(); // it would save and leave the page
    const line = input.closest("[data-line]");
    if (line) addLine(line.closest("[data-lines]"), line);
  });

  // Sortable tells of a finished drag by an event of its own.
  document.addEventListener("end", (event) => {
    const list = event.target;
    if (list.matches?.(NAMED)) nameRows(list);
    if (list.matches?.("[data-list]")) changed(list);
  });

  /** Write the order of the screen into the rows. */
  function number(form) {
    for (const list of form.querySelectorAll("[data-list]:not([data-grid] > *)")) {
      [...list.children].forEach((row, place) => {
        const position = row.querySelector(`[name="${row.dataset.prefix}-position"]`);
        if (position) position.value = place;
      });
    }
  }

  document.addEventListener("submit", (event) => number(event.target), true);

  document.addEventListener("DOMContentLoaded", () => {
    const first = document.querySelector("a[data-problem]");
    const wanted = new URLSearchParams(location.search).get("field"); // a link to one field
    const target = document.getElementById(first ? first.dataset.problem : `id_${wanted}`);
    // Once all is loaded: Django's own script gives a new page's first input the focus whenever it comes.
    if (target) window.addEventListener("load", () => reveal(target));
    // What is nothing without a row opens with one; it is not typed yet, so nobody is asked to save it.
    for (const formset of document.querySelectorAll("fieldset:not([disabled]) [data-first]")) appendRow(formset);
    for (const list of document.querySelectorAll(NAMED)) nameRows(list);
  });

  window.evalwellRows = { FOCUSABLE, addRow, announce, appendRow, changed, fill, number };
})();
