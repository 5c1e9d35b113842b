/* The kind of a check decides which inputs its row has. Inputs of another kind are kept aside, so
   switching back loses nothing. The inputs of a stored check load when it is opened.
   Rows themselves: fixtures_app/rows.js */
(() => {
  "use strict";

  const kept = new WeakMap(); // row -> { kind: its inputs }

  /** Give a part of a page. */
  async function load(address) {
    const answer = await fetch(address);
    if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
    return answer.text();
  }

  /** Give the template of a kind of check; the first time, it is loaded. */
  async function templateOf(kind) {
    const find = () => document.querySelector(`template[data-options-for="${CSS.escape(kind)}"]`);
    if (kind && !find()) {
      const place = document.getElementById("ew-kinds");
      place.insertAdjacentHTML("beforeend", await load(place.dataset.inputs.replace("__kind__", kind)));
    }
    return find();
  }

  /** Give a row the inputs of its kind. */
  async function showKind(select) {
    const row = select.closest("[data-row]");
    const box = row.querySelector("[data-options]");
    row.querySelector("[data-not-loaded]")?.remove();
    try {
      const template = await templateOf(select.value);
      if (!template || template.dataset.optionsFor === select.value) fillIn(row, select, template);
    } catch {
      select.value = box.dataset.options; // its inputs are still there
      box.insertAdjacentHTML("beforebegin", '<p class="ew-error" role="alert" data-not-loaded></p>');
      box.previousElementSibling.textContent = "Could not load. Choose the kind again.";
    }
  }

  function fillIn(row, select, template) {
    const box = row.querySelector("[data-options]");
    const aside = kept.get(row) ?? {};
    kept.set(row, aside);
    const rare = row.querySelector("[data-advanced]");
    if (box.childNodes.length) {
      const inputs = document.createDocumentFragment();
      const rarely = document.createElement("div");
      rarely.dataset.rare = "";
      rarely.append(...rare.childNodes);
      inputs.append(...box.childNodes, rarely);
      aside[box.dataset.options] = inputs;
    }
    const kind = select.value;
    // Its sentence is known once it is saved.
    const label = kind ? select.selectedOptions[0].text : "New check";
    row.querySelector(".ew-title").textContent = label;
    row.querySelector("[data-kind-label]").textContent = label;
    box.dataset.options = kind;
    for (const part of row.querySelectorAll("[data-only]")) {
      part.hidden = !template || !(part.dataset.only in template.dataset);
    }
    if (!template) return;
    // Kinds that need a threshold to decide show it; for others it is under Advanced.
    const place = "measured" in template.dataset ? "measured" : "other";
    const threshold = row.querySelector("[data-threshold] > .ew-field");
    row.querySelector(`[data-threshold="${place}"]`).append(threshold);
    const inputs = aside[kind] ?? window.evalwellRows.fill(template, { __row__: row.dataset.prefix });
    const rarely = inputs.querySelector("[data-rare]");
    rarely.remove();
    rare.append(...rarely.childNodes);
    box.append(inputs);
  }

  const FAILED = "Could not load. Close and open this to try again.";

  /** The reference of a kind loads on request. */
  async function showReference(details) {
    const address = details.dataset.reference;
    delete details.dataset.reference;
    const body = details.querySelector(".ew-reference");
    try {
      body.innerHTML = await load(address);
    } catch {
      details.dataset.reference = address;
      body.textContent = FAILED;
    }
  }

  /** The inputs of a stored check take the place of the note that it is closed. */
  async function showInputs(later) {
    const address = later.dataset.later;
    later.removeAttribute("data-later");
    try {
      later.outerHTML = await load(address);
    } catch {
      later.dataset.later = address;
      later.querySelector("span").textContent = FAILED;
    }
  }

  /** What is rarely set of a turn, where nothing of it is: as in a new turn. */
  function showMore(details) {
    const turn = details.closest("[data-row]");
    const template = turn.closest("[data-formset]").querySelector(":scope > template[data-blank]");
    const blank = window.evalwellRows.fill(template, { "turns-__prefix__": turn.dataset.prefix });
    details.append(blank.querySelector(".ew-after > .ew-more > .ew-body"));
    details.removeAttribute("data-more");
  }

  // Toggle events do not bubble. What a page opens at once has one, too.
  document.addEventListener("toggle", ({ target }) => {
    if (!target.open) return;
    if (target.dataset.reference) showReference(target);
    if ("more" in target.dataset) showMore(target);
    const later = target.querySelector(":scope > .ew-body > [data-later]");
    if (later) showInputs(later);
  }, true);

  window.evalwellChecks = { showKind };
})();
