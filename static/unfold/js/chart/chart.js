/* Stands where every page of Unfold loads Chart.js: only pages that draw a chart load it, 70 kB less for the others.
   Unfold draws once the page has loaded, and that waits for a script that is added before. */
document.addEventListener("DOMContentLoaded", () => {
  const src = document.querySelector("canvas.chart")?.dataset.library;
  if (src) document.head.append(Object.assign(document.createElement("script"), { src, async: false }));
});
