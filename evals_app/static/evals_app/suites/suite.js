// The list of a suite's cases: tick all of a page, and say how many are selected.
(() => {
  "use strict";

  const form = document.querySelector("[data-selection]");
  const shown = form?.querySelector("[data-selected]");
  if (!shown) return;
  const all = form.querySelector("[data-all]");
  const everything = form.querySelector("[data-everything]");
  const boxes = [...form.querySelectorAll("input[name=case]")];

  function refresh() {
    const count = boxes.filter((box) => box.checked).length;
    all.checked = count === boxes.length;
    all.indeterminate = count > 0 && count < boxes.length;
    for (const box of [all, ...boxes]) box.disabled = Boolean(everything?.checked);
    shown.textContent = everything?.checked ? "All selected" : count ? `${count} selected` : "";
  }
  form.addEventListener("change", (event) => {
    if (event.target === all) { for (const box of boxes) box.checked = all.checked; }
    refresh();
  });
  window.addEventListener("pageshow", refresh); // the browser may have restored the boxes
})();
