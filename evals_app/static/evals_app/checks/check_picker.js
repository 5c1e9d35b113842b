/* The list of kinds of checks: opened to add a check or to change its kind, searched by typing. The
   search box keeps the focus; arrows move a mark through the list, Enter picks, Escape closes. */
(() => {
  "use strict";

  let picked = () => {}; // what is done with the picked kind

  const dialog = () => document.getElementById("ew-check-picker");
  const search = () => dialog().querySelector("input");
  const shown = () => [...dialog().querySelectorAll("[role=option]:not([hidden])")];

  function mark(option) {
    dialog().querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) search().setAttribute("aria-activedescendant", option.id);
    else search().removeAttribute("aria-activedescendant");
  }

  function filter() {
    const words = search().value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const group of dialog().querySelectorAll("[role=group]")) {
      for (const option of group.querySelectorAll("[role=option]")) {
        const text = `${option.textContent} ${option.dataset.words}`.toLowerCase();
        option.hidden = !words.every((word) => text.includes(word));
      }
      group.hidden = !group.querySelector("[role=option]:not([hidden])");
    }
    const count = shown().length;
    const nothing = "No check has these words. Try fewer or other words.";
    dialog().querySelector("[data-picker-count]").textContent = count
      ? `${count} check${count === 1 ? "" : "s"}`
      : nothing;
    mark(shown()[0]);
  }

  function open(kind, act) {
    picked = act;
    search().value = "";
    filter();
    dialog().showModal();
    const current = kind && document.getElementById(`ew-pick-${kind}`);
    mark(current || shown()[0]);
    search().focus();
  }

  function pick(option) {
    dialog().close();
    picked(option.dataset.kind);
  }

  /** Give a check its kind, and go on with its first option. */
  async function setKind(row, kind) {
    const select = row.querySelector("[data-check-kind]");
    if (select.value !== kind) {
      select.value = kind;
      await window.evalwellChecks.showKind(select);
      window.evalwellRows.changed(row);
    }
    const inputs = row.querySelectorAll(`[data-options] :is(${window.evalwellRows.FOCUSABLE})`);
    const first = [...inputs].find((input) => input.offsetParent);
    (first ?? row.querySelector("[data-pick-kind]")).focus();
    row.scrollIntoView({ block: "nearest" });
  }

  function move(step) {
    const options = shown();
    const at = options.findIndex((option) => option.ariaSelected === "true");
    mark(options[(at + step + options.length) % options.length]);
  }

  const keys = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: () => {
      const option = dialog().querySelector("[aria-selected=true]");
      if (option) pick(option);
    },
  };

  document.addEventListener("click", (event) => {
    const { target } = event;
    const add = target.closest("[data-pick-check]");
    const change = target.closest("[data-pick-kind]");
    if (add) return open("", (kind) => setKind(window.evalwellRows.addRow(add), kind));
    if (change) {
      const row = change.closest("[data-row]");
      return open(row.querySelector("[data-check-kind]").value, (kind) => setKind(row, kind));
    }
    if (!target.closest("#ew-check-picker")) return;
    const option = target.closest("[role=option]");
    if (option) pick(option);
    else if (target === dialog() || target.closest("[data-picker-close]")) dialog().close();
  });

  document.addEventListener("input", (event) => {
    if (event.target.matches("#ew-check-picker input")) filter();
  });

  document.addEventListener("keydown", (event) => {
    if (!event.target.matches?.("#ew-check-picker input") || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
})();
