// How many checks and limits a case would get; changes of the world are one check together.
(() => {
  "use strict";

  const form = document.getElementById("make-case");
  const tally = form?.querySelector("[data-tally]");
  if (!tally) return;
  const ticked = (kind) => form.querySelectorAll(`[data-counts="${kind}"]:checked`).length;
  const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  function show() {
    const checks = ticked("check") + (ticked("world") ? 1 : 0);
    const limits = ticked("limit");
    tally.textContent = checks + limits
      ? [checks && counted(checks, "check"), limits && counted(limits, "limit")].filter(Boolean).join(" and ")
      : tally.dataset.tally;
  }
  form.addEventListener("change", show);
  show();
})();
