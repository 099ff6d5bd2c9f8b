// Keeps the page live: each event of the stream says that a newer status was
// published; the regions are then fetched whole and swapped in. Without this
// script the page is the same, as of when it was loaded.
(() => {
  "use strict";
  const name = document.body.dataset.name;
  const lost = document.getElementById("lost");
  const hold = document.getElementById("hold");
  const silence = 20000; // the service pings every 15 s
  let stream, held = false, wanted = false, busy = false, heard = Date.now();

  const resting = (region) => !region.contains(document.activeElement) && !region.matches(":hover");

  // A region under the mouse or with the focus stays until it is left: nothing
  // moves under a click, and nothing typed is lost. It says that it is held.
  function swap(old, fresh) {
    for (const open of old.querySelectorAll("details[open][id]")) {
      const same = fresh.querySelector("#" + CSS.escape(open.id));
      if (same) same.open = true;
    }
    if (old.outerHTML !== fresh.outerHTML) old.replaceWith(fresh);
  }

  function take(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("regions");
    const now = document.getElementById("regions");
    if (!fresh || !now) return;
    document.title = fresh.dataset.title;
    for (const region of fresh.querySelectorAll("[data-region]")) {
      const old = now.querySelector(`[data-region="${region.dataset.region}"]`);
      if (!old) { location.reload(); return; }
      if (resting(old)) { swap(old, region); continue; }
      old.classList.add("held");
      wanted = true;
    }
  }

  async function refresh() {
    if (busy || held) { wanted = true; return; }
    busy = true; wanted = false;
    try {
      const answer = await fetch("/fragment?name=" + encodeURIComponent(name));
      if (answer.ok) { take(await answer.text()); heard = Date.now(); }
    } catch { /* the stream's loss shows the banner */ } finally { busy = false; }
  }

  function connect() {
    if (stream) stream.close();
    stream = new EventSource("/api/v1/events?name=" + encodeURIComponent(name));
    const alive = () => { heard = Date.now(); lost.hidden = true; };
    stream.addEventListener("open", alive);
    stream.addEventListener("ping", alive);
    stream.addEventListener("status", () => { alive(); wanted = true; });
    stream.addEventListener("end", () => { lost.hidden = false; });
    stream.addEventListener("error", () => { lost.hidden = false; if (stream.readyState === EventSource.CLOSED) setTimeout(connect, 2000); });
  }

  if (!name) return;
  hold.hidden = false;
  hold.addEventListener("click", () => { held = !held; hold.textContent = held ? "Go on with updates" : "Hold updates"; });
  document.addEventListener("visibilitychange", () => { if (document.hidden) stream.close(); else { connect(); wanted = true; } });
  setInterval(() => { if (wanted && !held) refresh(); if (!document.hidden && Date.now() - heard > silence) lost.hidden = false; }, 500);
  connect();
})();
