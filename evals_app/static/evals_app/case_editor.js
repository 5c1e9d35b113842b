/* The kind of a check decides which inputs its row has. Inputs of another kind are kept aside, so
   switching back loses nothing. Rows themselves: fixtures_app/rows.js */
(() => {
  "use strict";

  const kept = new WeakMap(); // row -> { kind: its inputs }

  function showKind(select) {
    const row = select.closest("[data-row]");
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
    row.querySelector(".ts-title").textContent = label;
    row.querySelector("[data-kind-label]").textContent = label;
    box.dataset.options = kind;
    const template = document.querySelector(`template[data-options-for="${CSS.escape(kind)}"]`);
    for (const part of row.querySelectorAll("[data-only]")) {
      part.hidden = !template || !(part.dataset.only in template.dataset);
    }
    if (!template) return;
    // Kinds that need a threshold to decide show it; for others it is under Advanced.
    const place = "measured" in template.dataset ? "measured" : "other";
    const threshold = row.querySelector("[data-threshold] > .ts-field");
    row.querySelector(`[data-threshold="${place}"]`).append(threshold);
    const prefix = `${row.dataset.prefix}-opt`;
    const inputs = aside[kind] ?? window.touchstoneRows.fill(template, { __options__: prefix });
    const rarely = inputs.querySelector("[data-rare]");
    rarely.remove();
    rare.append(...rarely.childNodes);
    box.append(inputs);
  }

  // The reference of a kind loads on request; toggle events do not bubble.
  async function showReference(event) {
    const details = event.target;
    const address = details.dataset?.reference;
    if (!address || !details.open) return;
    delete details.dataset.reference;
    const body = details.querySelector(".ts-reference");
    try {
      const answer = await fetch(address);
      if (!answer.ok) throw new Error(answer.statusText);
      body.innerHTML = await answer.text();
    } catch {
      details.dataset.reference = address;
      body.textContent = "Could not load. Close and open this to try again.";
    }
  }

  document.addEventListener("toggle", showReference, true);
  document.addEventListener("change", (event) => {
    if (event.target.matches?.("[data-check-kind]")) showKind(event.target);
  });
})();
