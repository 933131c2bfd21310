// The dashboard's script: times in the viewer's zone, regions that move by themselves, a
// question before what cannot be undone, and the theme. Pages work without it.
"use strict";

const root = document.documentElement;

// -- times ---------------------------------------------------------------------------------

const UNITS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const sameDay = new Intl.DateTimeFormat(undefined, CLOCK);
const sameYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", ...CLOCK });
const anyDay = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", ...CLOCK });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

// As short as it is clear: the day where it is another one, the year where it is another one.
function absolute(moment, at) {
  const [then, today] = [new Date(moment), new Date(at)];
  if (then.toDateString() === today.toDateString()) return sameDay.format(then);
  return (then.getFullYear() === today.getFullYear() ? sameYear : anyDay).format(then);
}

// A virtual clock may stand elsewhere than the wall: then the page says what time it is there.
function now() {
  const standing = document.querySelector("[data-now]");
  return standing ? Number(standing.dataset.now) : Date.now();
}

function showTimes(within) {
  const at = now();
  for (const time of within.querySelectorAll("time[datetime]")) {
    const moment = Date.parse(time.dateTime);
    if (Number.isNaN(moment)) continue;
    const seconds = (moment - at) / 1000;
    const [unit, size] = UNITS.find(([, s]) => Math.abs(seconds) >= s) || UNITS[UNITS.length - 1];
    const ago = document.createElement("span");
    ago.className = "ago";
    ago.textContent = relative.format(Math.round(seconds / size), unit);
    time.replaceChildren(absolute(moment, at), " ", ago);
    time.title = `${whole.format(moment)} (${new Date(moment).toISOString()})`;
  }
}

// -- questions -----------------------------------------------------------------------------

function ask(form, button) {
  const dialog = document.createElement("dialog");
  const text = document.createElement("p");
  const row = document.createElement("div");
  const no = document.createElement("button");
  const yes = document.createElement("button");
  text.id = "asked";
  text.textContent = form.dataset.asks;
  dialog.setAttribute("aria-labelledby", "asked");
  row.className = "row";
  no.type = yes.type = "button";
  no.className = "quiet";
  no.textContent = "Cancel";
  yes.className = "danger";
  yes.textContent = button ? button.textContent : "Yes";
  no.addEventListener("click", () => dialog.close());
  yes.addEventListener("click", () => { form.dataset.asked = "yes"; dialog.close(); form.requestSubmit(button); });
  dialog.addEventListener("close", () => { dialog.remove(); if (button) button.focus(); });
  row.append(no, yes);
  dialog.append(text, row);
  document.body.append(dialog);
  dialog.showModal();
  no.focus();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.asks && form.dataset.asked !== "yes") {
    event.preventDefault();
    ask(form, event.submitter);
    return;
  }
  if (form.method === "post") {
    form.setAttribute("aria-busy", "true");
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  }
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
});

// -- what moves by itself ------------------------------------------------------------------

const FOCUSABLE = "a[href], button, summary, input:not([type=hidden]), select, textarea";
let stale = false, waiting = null, last = 0;

function isBusy() {
  const at = document.activeElement;
  return document.querySelector("dialog[open], form[aria-busy]") || (at && at.closest("[data-region]") && at.matches("input, textarea, select"));
}

// What somebody has typed into a region stays there: it is replaced when it was sent or emptied.
function isTyped(region) {
  return [...region.querySelectorAll("input:not([type=hidden]), textarea")].some((one) => one.value !== one.defaultValue);
}

// Rows that carry a key are known by it: others may have come above them.
function placeOf(one, place) {
  const row = one.closest("[data-key]");
  return row ? `${row.dataset.key} ${[...row.querySelectorAll("details")].indexOf(one)}` : place;
}

// Whoever was on a link or a button of a region, or had opened a part of it, still is and has.
function replace(region, other) {
  const keys = new Set([...region.querySelectorAll("[data-key]")].map((one) => one.dataset.key));
  const opened = new Set([...region.querySelectorAll("details")].map((one, place) => (one.open ? placeOf(one, place) : null)));
  const places = [...region.querySelectorAll(FOCUSABLE)];
  const at = places.indexOf(document.activeElement);
  const label = at < 0 ? "" : places[at].textContent;
  region.replaceChildren(...other.childNodes);
  [...region.querySelectorAll("details")].forEach((one, place) => { if (opened.has(placeOf(one, place))) one.open = true; });
  if (keys.size)
    for (const one of region.querySelectorAll("[data-key]"))
      if (!keys.has(one.dataset.key)) one.classList.add("fresh");
  showTimes(region);
  if (at < 0) return;
  const now = [...region.querySelectorAll(FOCUSABLE)];
  const same = now[at] && now[at].textContent === label ? now[at] : now.find((one) => one.textContent === label);
  if (same) same.focus({ preventScroll: true });
}

async function refresh() {
  if (document.hidden || isBusy()) { stale = true; return; }
  stale = false;
  const answer = await fetch(location.href, { headers: { "X-Live": "1" }, cache: "no-store" });
  if (answer.status === 401) { location.reload(); return; }
  if (!answer.ok || isBusy()) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const region of document.querySelectorAll("[data-region]")) {
    const other = fresh.querySelector(`[data-region="${CSS.escape(region.dataset.region)}"]`);
    if (!other || other.innerHTML === shown.get(region)) continue;
    if (isTyped(region)) { stale = true; continue; }
    shown.set(region, other.innerHTML);
    replace(region, other);
  }
}

const shown = new WeakMap();

function soon() {
  if (waiting) return;
  const wait = Math.max(0, 1000 - (performance.now() - last));
  waiting = setTimeout(async () => {
    waiting = null;
    last = performance.now();
    try { await refresh(); } catch { say("off", "offline"); }
  }, wait);
}

function say(state, text) {
  const live = document.getElementById("live");
  if (!live || live.dataset.state === state) return;
  live.dataset.state = state;
  live.querySelector("[data-text]").textContent = text;
}

function follow(address) {
  const source = new EventSource(address);
  source.addEventListener("open", () => { say("on", "live"); soon(); });
  source.addEventListener("changed", soon);
  source.addEventListener("error", () => say("off", source.readyState === 2 ? "offline" : "reconnecting"));
  window.addEventListener("pagehide", () => source.close());
}

// -- the beginning ---------------------------------------------------------------------------

document.addEventListener("DOMContentLoaded", () => {
  for (const region of document.querySelectorAll("[data-region]")) shown.set(region, region.innerHTML);
  showTimes(document);
  document.getElementById("theme")?.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* private mode */ }
  });
  if (document.body.dataset.live) follow(document.body.dataset.live);
  setInterval(() => { showTimes(document); if (stale) soon(); }, 5000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden && stale) soon(); });
  document.addEventListener("focusout", () => { if (stale) soon(); });
});
