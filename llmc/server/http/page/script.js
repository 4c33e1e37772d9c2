// A little comfort: live status, keys, light or dark. Everything works without it.
"use strict";

const root = document.documentElement;
const chosen = localStorage.getItem("llmc-theme");
if (chosen) root.dataset.theme = chosen;

const theme = document.getElementById("theme");
if (theme) {
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("llmc-theme", root.dataset.theme);
  });
}

// The index as it is, every two seconds while somebody looks; it stops where the visit has ended.
const live = document.querySelector("[data-live]");
async function refresh() {
  if (document.hidden) return true;
  const answer = await fetch(live.dataset.live).catch(() => null);
  if (!answer) {
    live.classList.add("lost");
    return true;
  }
  if (answer.status === 401) return false;
  const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
  live.replaceChildren(...parsed.body.childNodes);
  live.classList.remove("lost");
  live.dataset.seen = String(Number(live.dataset.seen || 0) + 1);
  return true;
}
async function poll() {
  if (await refresh()) setTimeout(poll, 2000);
  else location.reload();
}
if (live) setTimeout(poll, 1000);

// The page opens at the wanted tool's own words.
const box = document.getElementById("q");
const links = () => [...document.querySelectorAll("#results .go, #results .symbol")];
function move(step) {
  const all = links();
  if (!all.length) return;
  const at = all.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1);
  all[next].focus();
  all[next].scrollIntoView({ block: "nearest" });
}
const keys = {
  "/": () => { if (box) { box.focus(); box.select(); } else location.href = "/"; },
  j: () => move(1),
  k: () => move(-1),
  n: () => document.querySelector("#results .next")?.click(),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (typing && event.key === "Escape") event.target.blur();
  if (typing || !(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
});
