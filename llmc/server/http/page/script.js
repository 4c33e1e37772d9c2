// Comfort: live index, keys, light or dark, copying. Everything works without it.
"use strict";

const root = document.documentElement;
const chosen = localStorage.getItem("llmc-theme");
if (chosen) root.dataset.theme = chosen;

function toggleTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("llmc-theme", root.dataset.theme);
}
const theme = document.getElementById("theme");
if (theme) {
  theme.hidden = false;
  theme.addEventListener("click", toggleTheme);
}

const keysDialog = document.getElementById("keys");
const help = document.getElementById("help");
if (help && keysDialog) {
  help.hidden = false;
  help.addEventListener("click", () => keysDialog.showModal());
}

// The state of the index, every two seconds while the page is visible; it stops when the login has ended.
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

// The placeholder and the button follow the chosen tool.
const box = document.getElementById("q");
for (const radio of document.querySelectorAll(".segments input")) {
  radio.addEventListener("change", () => {
    box.placeholder = radio.dataset.hint;
    box.form.querySelector("button").textContent = radio.nextElementSibling.textContent;
    if (box.value.trim()) box.form.requestSubmit();
    else box.focus();
  });
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}

const links = () => [...document.querySelectorAll("#results .go, .calls .go")].filter((one) => one.getClientRects().length);
function move(step) {
  const all = links();
  if (!all.length) return;
  const at = all.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1);
  all[next].focus();
  all[next].scrollIntoView({ block: "center" });
}
function why() {
  const file = document.activeElement.closest(".file") || document.querySelector(".file");
  const details = file?.querySelector(".why");
  if (details) details.open = !details.open;
}
let going = false;
const places = { h: "/", a: "/page/activity", s: "/page/sessions", p: "/page/personas", i: "/page/index" };
const keys = {
  "/": () => { if (box) { box.focus(); box.select(); } else location.href = "/"; },
  j: () => move(1),
  k: () => move(-1),
  n: () => document.querySelector("#results .next")?.click(),
  w: why,
  t: toggleTheme,
  "?": () => keysDialog?.showModal(),
  g: () => { going = true; setTimeout(() => { going = false; }, 1000); },
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "radio";
  if (typing && event.key === "Escape") event.target.blur();
  if (typing) return;
  if (going && event.key in places) {
    location.href = places[event.key];
    return;
  }
  if (!(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
});
