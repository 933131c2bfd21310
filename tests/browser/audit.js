// What a page owes to everybody who cannot see it as we do: each finding is one line.
() => {
  const found = [];
  const say = (what, one) => found.push(what + (one ? ": " + (one.outerHTML || "").replace(/\s+/g, " ").slice(0, 140) : ""));
  const all = (selector) => [...document.querySelectorAll(selector)];
  const isShown = (one) => one.checkVisibility({ visibilityProperty: true });
  const byId = (ids) => (ids || "").split(/\s+/).filter(Boolean).map((id) => document.getElementById(id));

  // -- the page --
  if (!document.documentElement.lang) say("no language");
  if (!document.title.trim()) say("no title");
  if (all("main").length !== 1) say("not one main");
  if (all("h1").length !== 1) say("not one h1, but " + all("h1").length);
  let level = 0;
  for (const one of all("h1, h2, h3, h4, h5, h6").filter(isShown)) {
    const next = Number(one.tagName[1]);
    if (next > level + 1 && level) say(`a heading skips from ${level} to ${next}`, one);
    level = next;
  }
  const ids = all("[id]").map((one) => one.id);
  for (const id of new Set(ids)) if (ids.filter((one) => one === id).length > 1) say("an id twice: " + id);
  for (const one of all("[aria-labelledby], [aria-describedby], [aria-controls]"))
    for (const name of ["aria-labelledby", "aria-describedby", "aria-controls"])
      if (byId(one.getAttribute(name)).includes(null)) say(name + " names nothing", one);
  for (const one of all("label[for]")) if (!document.getElementById(one.htmlFor)) say("a label of nothing", one);
  for (const one of all("[tabindex]")) if (one.tabIndex > 0) say("an order of its own", one);
  for (const one of all("[style]")) say("a style of its own", one);
  for (const one of all("*")) for (const { name } of one.attributes) if (name.startsWith("on")) say("a handler of its own", one);
  for (const one of all("a[href], area[href]")) if (/^\s*javascript:/i.test(one.getAttribute("href"))) say("a link that runs", one);

  // -- names --
  const nameOf = (one) => {
    const told = byId(one.getAttribute("aria-labelledby")).filter(Boolean).map((by) => by.textContent).join(" ");
    const labels = one.labels ? [...one.labels].map((by) => by.textContent).join(" ") : "";
    const drawn = [...one.querySelectorAll("svg title, img[alt]")].map((by) => by.textContent || by.alt).join(" ");
    return (told || one.getAttribute("aria-label") || labels || one.innerText || drawn || one.title || "").trim();
  };
  for (const one of all("input:not([type=hidden]), select, textarea").filter(isShown)) {
    const told = byId(one.getAttribute("aria-labelledby")).length || one.getAttribute("aria-label") || (one.labels && one.labels.length && nameOf(one));
    if (!told) say("a control without a label", one);
  }
  for (const one of all("button, a[href], summary, [role=button]").filter(isShown)) if (!nameOf(one)) say("no name", one);
  for (const one of all("img:not([alt])")) say("an image without words", one);
  for (const one of all("svg")) {
    const hidden = one.closest("[aria-hidden=true]");
    if (!hidden && !one.getAttribute("aria-label") && !one.getAttribute("aria-labelledby") && !one.querySelector("title")) say("a drawing without words", one);
  }
  for (const one of all("nav, section[aria-labelledby]")) if (!nameOf(one) && !one.getAttribute("aria-label")) say("a part without a name", one);
  for (const one of all("meter, progress").filter(isShown)) {
    const told = one.getAttribute("aria-label") || byId(one.getAttribute("aria-labelledby")).length || (one.labels && one.labels.length);
    if (!told) say("a measure without a name", one);
  }

  // -- tables --
  for (const table of all("table")) {
    if (!table.querySelector("th")) say("a table without headers", table);
    for (const one of table.querySelectorAll("th")) if (!one.getAttribute("scope")) say("a header of nothing", one);
  }

  // -- contrast --
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const brush = canvas.getContext("2d", { willReadFrequently: true });
  const seen = new Map();
  const rgba = (colour) => {
    if (!seen.has(colour)) {
      brush.clearRect(0, 0, 1, 1);
      brush.fillStyle = colour;
      brush.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data;
      seen.set(colour, [r, g, b, a / 255]);
    }
    return seen.get(colour);
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reduceRight((below, layer) => over(layer, below), rgba(getComputedStyle(document.documentElement).colorScheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#ffffff"));
  };
  const dim = (one) => { let share = 1; for (let at = one; at; at = at.parentElement) share *= Number(getComputedStyle(at).opacity); return share; };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const told = new Set();
  while (texts.nextNode()) {
    const one = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || one.closest("script, style, template, option, title, desc, datalist, :disabled") || !isShown(one)) continue;
    const box = one.getBoundingClientRect();
    if (box.right < 0 || box.width <= 1 || box.height <= 1) continue;
    const style = getComputedStyle(one);
    const isDrawn = one instanceof SVGElement;
    const back = behind(isDrawn ? one.closest("svg").parentElement : one);
    const [r, g, b, a] = rgba(isDrawn ? style.fill : style.color);
    const ink = over([r, g, b, a * dim(one)], back);
    const [high, low] = [light(ink), light(back)].sort((x, y) => y - x);
    const ratio = (high + 0.05) / (low + 0.05);
    const what = `${one.tagName.toLowerCase()}.${one.getAttribute("class") || ""} ${ratio.toFixed(2)}`;
    if (ratio < 4.5 && !told.has(what)) { told.add(what); say("too little contrast " + what, one); }
  }
  return found;
}
