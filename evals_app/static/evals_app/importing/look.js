// A look at a large file needs its first part only: the rest is not sent before it is imported.
(() => {
  "use strict";

  const MOST = 2 * 1024 * 1024;

  document.addEventListener("htmx:configRequest", (event) => {
    if (!event.target.matches("[data-looks]")) return;
    const { formData } = event.detail;
    const file = formData.get("file");
    if (!(file instanceof File) || file.size <= MOST) return;
    formData.set("file", file.slice(0, MOST), file.name);
    formData.set("is_part", "1");
  });
})();
