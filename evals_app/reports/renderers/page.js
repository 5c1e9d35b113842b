(() => {
  "use strict";

  const form = document.getElementById("filters");
  const rows = [...document.querySelectorAll(".execution")];
  const shown = document.getElementById("shown");
  const texts = new Map(); // read once, when someone searches
  function textOf(row) {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  }
  function apply() {
    const chosen = form.elements.state.value;
    const words = form.elements.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const fits = (!chosen || row.dataset.state === chosen) && words.every((word) => textOf(row).includes(word));
      row.hidden = !fits;
      count += fits;
    }
    shown.textContent = `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} conversations shown`;
  }
  let waiting;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(apply, 150);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    apply();
  });
  form.hidden = false;
  apply();
})();
