/* Offer the time zone of the browser to people who have not chosen one. */
(() => {
  "use strict";

  const offer = document.getElementById("time-zone-offer");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  // "UTC" and "Etc/GMT+1" are no places, so nobody lives there.
  if (!offer || !zone?.includes("/") || zone.startsWith("Etc/") || zone === offer.dataset.shown) return;
  offer.querySelector("strong").textContent = zone;
  offer.querySelector("button").value = zone;
  offer.hidden = false;
})();
