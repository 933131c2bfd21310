// Runs before the page is drawn, so that the theme somebody chose does not flash.
"use strict";

try {
  const chosen = localStorage.getItem("theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch { /* private mode */ }
document.documentElement.classList.add("scripted");
