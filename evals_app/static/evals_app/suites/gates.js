// A number that someone types into a gate turns the gate on.
document.addEventListener("input", (event) => {
  const box = event.target.closest("[data-gate]")?.querySelector("[type=checkbox]");
  if (box && event.target !== box) box.checked = true;
});
