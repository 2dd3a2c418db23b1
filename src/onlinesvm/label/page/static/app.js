// The labelling page. One question at a time; what the server says is what is shown.
// Texts and names are always set as text, never as markup.

const $ = (id) => document.getElementById(id);
const version = document.body.dataset.version;
const KEYS = "1234567890";
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#7a4fbf", "#b3423a", "#5c8a00", "#777777"];

const state = {
  annotator: document.body.dataset.annotator,
  client: newKey(),
  tab: "label",
  question: null,
  panel: null,
  busy: false,
  grid: false,
  typed: "",
  change: null, // an item of the strip that is being answered again
  keys: stored("keys") !== "off",
};

function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("");
}

function stored(name, value) {
  try {
    if (value === undefined) return localStorage.getItem("onlinesvm-label-" + name);
    localStorage.setItem("onlinesvm-label-" + name, value);
  } catch { /* a browser that keeps nothing */ }
  return null;
}

// -- talking to the server ------------------------------------------------------------------

async function send(path, body) {
  const reply = await fetch("api/" + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ annotator: state.annotator, client: state.client, ...body }),
  });
  const found = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(found.error || reply.statusText), { status: reply.status });
  return found;
}

// A request that changes something keeps its key: sent again after a lost reply, it counts once.
async function change(path, body) {
  const key = newKey();
  for (let attempt = 0; ; attempt++) {
    try {
      const found = await send(path, { key, ...body });
      problem("");
      return found;
    } catch (error) {
      const again = error.status === undefined || error.status === 507;
      problem(error.status === undefined ? "The server does not respond; trying again. Saved answers are not lost." : error.message);
      if (!again || attempt >= 20) throw error;
      saved("not saved");
      await new Promise((wake) => setTimeout(wake, Math.min(250 * 2 ** attempt, 4000)));
    }
  }
}

function problem(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

function saved(text) {
  $("saved").textContent = text;
}

function asking() {
  return state.tab === "find" ? { mode: "find", target: $("find-class").value } : { mode: "label" };
}

// -- showing items --------------------------------------------------------------------------

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function imageOf(item, small) {
  const size = small ? "&small=1" : "";
  const image = element("img", { alt: item.name, draggable: "false" });
  image.src = `item/${item.number}/image?v=${version}${size}`;
  return image;
}

function contentOf(item, small) {
  if (item.kind === "image") return imageOf(item, small);
  if (item.kind === "text") return element("p", { class: "text" }, item.text);
  const rows = item.cells.map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value)));
  if (small) return element("p", { class: "text" }, item.cells.map((cell) => cell.join(" ")).join(", "));
  return element("table", {}, element("tbody", {}, ...rows));
}

function tile(item, caption, onclick, pressed) {
  const button = element("button", { type: "button", onclick }, contentOf(item, true), element("span", { class: "caption" }, caption));
  if (pressed !== undefined) button.setAttribute("aria-pressed", String(pressed));
  button.dataset.number = item.number;
  return element("li", {}, button);
}

function spoken(item) {
  if (item.kind === "text") return item.text.slice(0, 300);
  if (item.kind === "row") return item.cells.map((cell) => cell.join(" ")).join(", ");
  return item.name;
}

const WHY = {
  random: "Random question, to measure the accuracy",
  front: "Requested",
  overlap: "Also answered by another annotator",
  find: "Most likely of this class",
  label: "The model is least sure here",
};

function show(reply) {
  state.question = reply.question;
  state.panel = reply.panel;
  state.change = null;
  state.typed = "";
  showQuestion();
  showPanel();
}

function showQuestion() {
  const question = state.question;
  const item = state.change || question.item;
  $("because").hidden = true;
  if (!item) {
    $("item").replaceChildren(element("p", { class: "text" }, "All items are answered."));
    $("why").textContent = $("item-name").textContent = "";
    $("classes").replaceChildren();
    $("announce").textContent = "All items are answered.";
    return;
  }
  const opinion = !state.change && question.belief;
  const why = state.change ? `Change the answer; it was “${item.label || "cannot say"}”` : opinion || question.why !== "label" ? WHY[question.why] : "First items, before there is a model";
  const copies = !state.change && question.copies ? ` · also for ${question.copies} near ${question.copies === 1 ? "copy" : "copies"}` : "";
  $("why").textContent = why + copies;
  $("item").replaceChildren(contentOf(item, false));
  $("item-name").textContent = item.name;
  $("note").value = item.note || "";
  showClasses(opinion ? question.belief.shares : {});
  if (opinion && question.because.length) {
    $("because").hidden = false;
    $("because-items").replaceChildren(...question.because.map((like) => tile(like, like.label || "", () => startChange(like))));
  }
  const belief = opinion ? ` The model says ${question.belief.label}.` : "";
  $("announce").textContent = `${spoken(item)}.${belief}`;
}

function names() {
  return state.panel ? state.panel.classes.map((each) => each.name) : [];
}

function showClasses(shares) {
  const buttons = names().map((name, k) => {
    const share = shares[name];
    const bar = element("span", { class: "belief", "aria-hidden": "true" });
    if (share !== undefined) bar.style.width = `${Math.round(100 * share)}%`;
    const parts = [bar];
    if (k < KEYS.length) parts.push(element("kbd", { "aria-hidden": "true" }, KEYS[k]));
    parts.push(element("span", { class: "label" }, name));
    if (share !== undefined) parts.push(element("span", { class: "share" }, `${Math.round(100 * share)} %`));
    const button = element("button", { type: "button", onclick: () => answer("label", name) }, ...parts);
    if (k < KEYS.length) button.setAttribute("aria-keyshortcuts", KEYS[k]);
    if (state.typed && name.toLowerCase().startsWith(state.typed)) button.classList.add("match");
    return button;
  });
  $("classes").replaceChildren(...buttons);
}

// -- answering ------------------------------------------------------------------------------

async function once(work) {
  if (state.busy) return;
  state.busy = true;
  try {
    await work();
  } catch (error) {
    problem(error.message);
  } finally {
    state.busy = false;
  }
}

function answer(kind, label) {
  return once(async () => {
    const item = state.change || state.question.item;
    if (!item) return;
    const body = { item: item.number, kind, label, note: $("note").value, change: Boolean(state.change), ...asking() };
    try {
      show(await change("answer", body));
      done();
      lookAhead();
    } catch (error) {
      if (error.status !== 409) throw error;
      show(await send("question", asking())); // somebody else has answered it
    }
  });
}

function done() {
  performance.mark("shown");
  saved("Saved ✓");
  clearTimeout(done.timer);
  done.timer = setTimeout(() => saved(""), 2500);
}

// What must not be lost because something else is under way: undo, and opening a tab.
async function whenFree(work) {
  while (state.busy) await new Promise((wake) => setTimeout(wake, 10));
  return once(work);
}

function step(kind) {
  return whenFree(async () => {
    show(await change(kind, asking()));
    if (state.grid) await showGrid();
    done();
  });
}

function startChange(item) {
  state.change = item;
  showQuestion();
  $("item").focus();
}

// What comes after each possible answer is computed, and its image loaded, before a key is pressed: the
// likely answers first. It waits a moment, so that whoever is quicker than that is not in its way.
async function lookAhead() {
  const seq = state.question.seq;
  await new Promise((wake) => setTimeout(wake, 60));
  try {
    for (const few of [true, false]) {
      if (state.busy || state.question.seq !== seq) return;
      const found = await send("ahead", { few });
      if (state.question.seq !== seq || !state.question.item || state.question.item.kind !== "image") continue;
      for (const number of found.items) new Image().src = `item/${number}/image?v=${version}`;
    }
  } catch { /* only a matter of speed */ }
}

async function showNext() {
  show(await send("question", asking()));
  lookAhead();
}

const load = () => once(showNext);

// -- grid -----------------------------------------------------------------------------------

async function showGrid() {
  const label = $("grid-class").value;
  const found = label ? await send("grid", { label }) : { items: [] };
  const mark = (event) => {
    const button = event.currentTarget;
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
    button.querySelector(".caption").textContent = button.getAttribute("aria-pressed") === "true" ? "not " + label : label;
  };
  $("grid-items").replaceChildren(...found.items.map((item) => tile(item, label, mark, false)));
  const two = names().length === 2;
  $("grid-hint").textContent = found.items.length
    ? `Click the wrong ones, then press Enter. ${two ? "They get the other class." : "They are asked about next, one by one."}`
    : "The model does not predict this class for any open item yet. Answer a few questions one at a time first.";
  $("grid-save").disabled = !found.items.length;
  $("announce").textContent = `${found.items.length} items predicted as ${label}`;
}

function saveGrid() {
  return once(async () => {
    const buttons = [...$("grid-items").querySelectorAll("button")];
    if (!buttons.length) return;
    const pick = (pressed) => buttons.filter((b) => (b.getAttribute("aria-pressed") === "true") === pressed).map((b) => Number(b.dataset.number));
    const reply = await change("answer_grid", { label: $("grid-class").value, right: pick(false), wrong: pick(true) });
    state.panel = reply.panel;
    showPanel();
    await showGrid();
    done();
    saved(`${reply.done.saved} saved ✓`);
  });
}

async function switchGrid(on) {
  state.grid = on;
  $("one").hidden = on;
  $("grid").hidden = !on;
  $("as-grid").setAttribute("aria-pressed", String(on));
  $("one-at-a-time").setAttribute("aria-pressed", String(!on));
  await whenFree(on ? showGrid : showNext);
}

// -- the panel ------------------------------------------------------------------------------

const count = new Intl.NumberFormat("en");

function showPanel() {
  const panel = state.panel;
  $("n-labelled").textContent = count.format(panel.labelled);
  $("n-open").textContent = count.format(panel.open);
  $("n-aside").textContent = count.format(panel.aside);
  $("undo").disabled = !panel.undo;
  $("redo").disabled = !panel.redo;
  $("lead").hidden = state.tab === "find";
  const most = Math.max(1, ...panel.classes.map((each) => each.count));
  $("counts").replaceChildren(...panel.classes.map((each) => {
    const fill = element("span", { class: "fill", "aria-hidden": "true" });
    fill.style.width = `${(100 * each.count) / most}%`;
    return element("li", {}, fill, element("span", {}, each.name), element("span", {}, count.format(each.count)));
  }));
  showAccuracy(panel);
  $("settled").hidden = !panel.settled;
  showCertificate(panel.certificate);
  $("strip").replaceChildren(...panel.strip.map((item) => tile(item, item.later ? "later" : item.label || "cannot say", () => startChange(item))));
  $("last").hidden = !panel.strip.length;
  for (const id of ["find-class", "grid-class", "review-to", "manage-class"]) fillOptions($(id), names());
  fillReviewKinds();
}

function fillOptions(select, values, texts = values) {
  const chosen = select.value;
  if ([...select.options].map((o) => o.value).join("\n") === values.join("\n")) return;
  select.replaceChildren(...values.map((value, k) => element("option", { value }, texts[k])));
  if (values.includes(chosen)) select.value = chosen;
}

const percent = (share) => `${(100 * share).toFixed(share > 0.995 && share < 1 ? 1 : 0)} %`;

function showAccuracy(panel) {
  if (!panel.accuracy) return;
  const { value, low, high, n } = panel.accuracy;
  $("accuracy").replaceChildren(
    element("strong", {}, percent(value)),
    ` correct, between ${percent(low)} and ${percent(high)} (90 % confidence), from ${n} random ${n === 1 ? "item" : "items"}.`,
  );
  drawCurve(panel.curve);
}

function drawCurve(points) {
  const svg = $("curve");
  svg.toggleAttribute("hidden", points.length < 2);
  if (points.length < 2) return;
  const make = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const last = points[points.length - 1][0];
  const x = (labels) => 24 + (210 * labels) / Math.max(1, last);
  const y = (share) => 76 - 70 * share;
  const line = points.map(([labels, value]) => `${x(labels)},${y(value)}`).join(" ");
  const upper = points.map(([labels, , , high]) => `${x(labels)},${y(high)}`);
  const lower = points.map(([labels, , low]) => `${x(labels)},${y(low)}`).reverse();
  svg.replaceChildren(
    make("polygon", { class: "band", points: [...upper, ...lower].join(" ") }),
    make("line", { class: "axis", x1: 24, y1: 76, x2: 236, y2: 76 }),
    make("line", { class: "axis", x1: 24, y1: 6, x2: 236, y2: 6 }),
    make("polyline", { class: "line", points: line }),
    make("text", { x: 0, y: 10 }, "100"),
    make("text", { x: 12, y: 79 }, "0"),
    make("text", { x: 236, y: 88, "text-anchor": "end" }, `${count.format(last)} labels`),
  );
}

function showCertificate(found) {
  if (!found) {
    $("certificate").textContent = "";
    return;
  }
  const p = found.p < 0.001 ? "p < 0.001" : `p = ${found.p.toFixed(found.p < 0.1 ? 3 : 2)}`;
  $("certificate").textContent = found.p < 0.05
    ? `${count.format(found.found)} found; ${percent(found.target)} of “${found.label}” found, ${p}: you may stop.`
    : `${count.format(found.found)} found; not yet sure of ${percent(found.target)} (${p}).`;
}

// -- review ---------------------------------------------------------------------------------

function fillReviewKinds() {
  const values = ["doubt", "disagreements", ...names().map((name) => "class:" + name)];
  const texts = ["Labels that the model contradicts", "Disagreements between annotators", ...names().map((name) => "All of " + name)];
  fillOptions($("review-kind"), values, texts);
}

async function showReview() {
  const kind = $("review-kind").value || "doubt";
  const body = kind.startsWith("class:") ? { kind: "class", label: kind.slice(6) } : { kind };
  const found = await send("review", body);
  const toggle = (event) => event.currentTarget.setAttribute("aria-pressed", String(event.currentTarget.getAttribute("aria-pressed") !== "true"));
  const caption = (item) => {
    if (item.answers) return Object.entries(item.answers).map(([who, label]) => `${who}: ${label}`).join(", ");
    return item.predicted && item.predicted !== item.label ? `${item.label}, model: ${item.predicted}` : item.label || "";
  };
  $("review-items").replaceChildren(...found.items.map((item) => tile(item, caption(item), toggle, false)));
  const agreed = kind === "disagreements" ? `${found.both} items answered by two annotators${found.kappa === null ? "" : `, Cohen’s kappa ${found.kappa.toFixed(2)}`}. ` : "";
  $("review-hint").textContent = agreed + (found.items.length ? "Click to select, then change them together." : kind === "doubt" ? "The model doubts none of the labels." : "Nothing to show.");
}

function applyReview() {
  return once(async () => {
    const items = [...$("review-items").querySelectorAll("[aria-pressed=true]")].map((b) => Number(b.dataset.number));
    if (!items.length) throw new Error("No items are selected.");
    const reply = await change("relabel", { items, label: $("review-to").value });
    state.panel = reply.panel;
    showPanel();
    await showReview();
    done();
  });
}

function manage(kind) {
  return once(async () => {
    const reply = await change("classes", { kind, name: $("manage-class").value, to: $("manage-name").value });
    $("manage-name").value = "";
    state.panel = reply.panel;
    showPanel();
    await showReview();
    done();
  });
}

// -- explore --------------------------------------------------------------------------------

let drawn = null;

async function showMap() {
  drawn = await send("map", {});
  const known = [...new Set(drawn.predicted.filter((name) => name !== null))];
  drawn.colour = new Map(known.map((name) => [name, COLOURS[Math.max(0, names().indexOf(name)) % COLOURS.length]]));
  $("legend").replaceChildren(...known.sort().map((name) => {
    const dot = element("i", { "aria-hidden": "true" });
    dot.style.background = drawn.colour.get(name);
    return element("li", {}, dot, name);
  }));
  drawMap();
}

function places() {
  const canvas = $("map");
  const { width, height } = canvas.getBoundingClientRect();
  return drawn.x.map((x, k) => [width / 2 + (x * width) / 2.6, height / 2 - (drawn.y[k] * height) / 2.6]);
}

function drawMap() {
  if (!drawn) return;
  const canvas = $("map");
  const { width, height } = canvas.getBoundingClientRect();
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  const pen = canvas.getContext("2d");
  pen.scale(devicePixelRatio, devicePixelRatio);
  places().forEach(([x, y], k) => {
    const colour = drawn.colour.get(drawn.predicted[k]) || "#888888";
    pen.beginPath();
    pen.arc(x, y, drawn.labelled[k] ? 4.5 : 2.5, 0, 7);
    pen.globalAlpha = drawn.labelled[k] ? 1 : 0.45;
    pen.fillStyle = colour;
    pen.fill();
  });
}

async function clickMap(event) {
  if (!drawn) return;
  const box = $("map").getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const apart = places().map(([a, b]) => (a - x) ** 2 + (b - y) ** 2);
  const nearest = apart.indexOf(Math.min(...apart));
  const { item } = await send("item", { item: drawn.items[nearest] });
  const ask = element("button", { class: "quiet", onclick: () => feed([item.number]) }, "Ask about it first");
  $("map-item").hidden = false;
  $("map-item").replaceChildren(
    element("div", { class: "item" }, contentOf(item, false)),
    element("p", { class: "hint" }, item.label ? `Label: ${item.label}` : `The model says: ${drawn.predicted[nearest] || "nothing yet"}`),
    ...(item.label ? [] : [ask]),
  );
}

// -- search ---------------------------------------------------------------------------------

function openSearch() {
  if (!$("search").open) $("search").showModal();
  $("search-words").focus();
}

async function showFound(found, hint) {
  $("search-items").replaceChildren(...found.items.map((item) => tile(item, item.label || item.name, (event) => {
    const button = event.currentTarget;
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
  }, !item.label && !item.aside)));
  $("search-hint").textContent = found.items.length ? `${hint}: ${found.items.length}. Selected ones are asked about first.` : "No items found.";
  $("search-feed").hidden = !found.items.length;
}

function feed(items) {
  return once(async () => {
    if (!items.length) throw new Error("No items are selected.");
    await change("feed", { items });
    $("search").close();
    if (state.tab !== "find") selectTab("label");
    show(await send("question", asking()));
  });
}

// -- tabs and keys --------------------------------------------------------------------------

function selectTab(name) {
  state.tab = name;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const mine = tab.id === "tab-" + name;
    tab.setAttribute("aria-selected", String(mine));
    tab.tabIndex = mine ? 0 : -1;
  }
  const view = name === "label" || name === "find" ? "ask" : name;
  for (const panel of document.querySelectorAll("[role=tabpanel]")) panel.hidden = panel.id !== "view-" + view;
  $("view-ask").setAttribute("aria-labelledby", name === "find" ? "tab-find" : "tab-label");
  $("find-bar").hidden = name !== "find";
  $("lead").hidden = name === "find";
}

async function openTab(name) {
  problem("");
  selectTab(name);
  const showTab = (show) => whenFree(async () => state.tab === name && show());
  if (name === "review") await showTab(showReview);
  else if (name === "explore") await showTab(showMap);
  else if (name === "find" && !names().length) {
    selectTab("label");
    problem("There is no class to search for yet; add one first.");
  } else if (name !== "export") await showTab(state.grid ? showGrid : showNext);
}

function typing(event) {
  const target = event.target;
  return target.closest("dialog") || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName);
}

function typeName(key) {
  if (key === "Enter") {
    const found = names().filter((name) => name.toLowerCase().startsWith(state.typed));
    state.typed = "";
    if (found.length) answer("label", found[0]);
    return;
  }
  state.typed += key.toLowerCase();
  if (!names().some((name) => name.toLowerCase().startsWith(state.typed))) state.typed = key.toLowerCase();
  const shares = state.question.belief && !state.change ? state.question.belief.shares : {};
  showClasses(shares);
}

function pressed(event) {
  if (event.key === "Escape" && state.change) {
    state.change = null;
    showQuestion();
    return;
  }
  if (typing(event) || event.ctrlKey || event.metaKey || event.altKey || !state.keys) return;
  const take = (work) => {
    event.preventDefault();
    work();
  };
  if (event.key === "?") return take(() => $("help").showModal());
  if (event.key === "/") return take(openSearch);
  if (state.tab !== "label" && state.tab !== "find") return;
  if (event.key === "Backspace") return take(() => step(event.shiftKey ? "redo" : "undo"));
  if (state.grid) {
    if (event.key === "Enter" && event.target.tagName !== "BUTTON") return take(saveGrid);
    if (event.key === "Enter" && event.target.closest("#grid-items")) return take(saveGrid);
    if (event.key === "g") return take(() => switchGrid(false));
    return;
  }
  const onButton = event.target.tagName === "BUTTON";
  if (event.key === " " && !onButton) return take(() => answer("later"));
  const place = KEYS.indexOf(event.key);
  if (event.key.length === 1 && place >= 0 && place < names().length) return take(() => answer("label", names()[place]));
  const many = names().length > KEYS.length;
  if (many && event.key === "Enter" && state.typed && !onButton) return take(() => typeName("Enter"));
  const begins = many && names().some((name) => name.toLowerCase().startsWith(state.typed + event.key.toLowerCase()));
  if (begins && event.key.length === 1) return take(() => typeName(event.key));
  if (event.key === "x") return take(() => answer("aside"));
  if (event.key === "n") return take(() => $("note").focus());
  if (event.key === "g") return take(() => switchGrid(true));
}

function moveTab(event) {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const step_ = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step_) return;
  const next = tabs[(tabs.indexOf(event.target) + step_ + tabs.length) % tabs.length];
  next.focus();
  next.click();
}

// -- start ----------------------------------------------------------------------------------

function formatGuidelines() {
  const box = $("guidelines");
  if (!box) return;
  const made = [];
  let list = null;
  for (const line of box.textContent.split("\n")) {
    const heading = line.match(/^#+\s+(.*)/);
    const entry = line.match(/^\s*[-*]\s+(.*)/);
    if (!entry) list = null;
    if (heading) made.push(element("h3", {}, heading[1]));
    else if (entry) {
      if (!list) made.push((list = element("ul")));
      list.append(element("li", {}, entry[1]));
    } else if (line.trim()) made.push(element("p", {}, line));
  }
  box.classList.add("formatted");
  box.replaceChildren(...made);
}

async function askName() {
  if (!state.annotator) state.annotator = stored("annotator") || "";
  if (state.annotator) return;
  $("who-name").value = document.body.dataset.suggested;
  $("who").showModal();
  await new Promise((closed) => $("who").addEventListener("close", closed, { once: true }));
  state.annotator = $("who-name").value.trim() || "me";
  stored("annotator", state.annotator);
}

function connect() {
  document.addEventListener("keydown", pressed);
  document.querySelector("[role=tablist]").addEventListener("keydown", moveTab);
  for (const tab of document.querySelectorAll("[role=tab]")) tab.addEventListener("click", () => openTab(tab.id.slice(4)));
  $("later").addEventListener("click", () => answer("later"));
  $("aside").addEventListener("click", () => answer("aside"));
  $("undo").addEventListener("click", () => step("undo"));
  $("redo").addEventListener("click", () => step("redo"));
  $("as-grid").addEventListener("click", () => switchGrid(true));
  $("one-at-a-time").addEventListener("click", () => switchGrid(false));
  $("grid-save").addEventListener("click", saveGrid);
  $("grid-class").addEventListener("change", () => once(showGrid));
  $("find-class").addEventListener("change", load);
  $("review-kind").addEventListener("change", () => once(showReview));
  $("review-apply").addEventListener("click", applyReview);
  $("manage").addEventListener("submit", (event) => {
    event.preventDefault();
    manage(event.submitter ? event.submitter.value : "rename");
  });
  $("new-class").addEventListener("submit", (event) => {
    event.preventDefault();
    once(async () => {
      const name = $("new-class-name").value;
      const reply = await change("classes", { kind: "add", name });
      $("new-class-name").value = "";
      $("main").focus();
      state.panel = reply.panel;
      showPanel();
      showQuestion();
    });
  });
  $("note").addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "Escape") {
      event.preventDefault();
      $("note").blur();
    }
  });
  $("open-help").addEventListener("click", () => $("help").showModal());
  $("open-search").addEventListener("click", openSearch);
  $("search-close").addEventListener("click", () => $("search").close());
  $("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    once(async () => showFound(await send("search", { words: $("search-words").value }), "Found"));
  });
  $("search-feed").addEventListener("click", () => feed([...$("search-items").querySelectorAll("[aria-pressed=true]")].map((b) => Number(b.dataset.number))));
  $("alike").addEventListener("click", () => once(async () => {
    const item = state.change || state.question.item;
    if (!item) return;
    openSearch();
    await showFound(await send("search", { like: item.number }), "Most similar");
  }));
  $("map").addEventListener("click", (event) => clickMap(event).catch((error) => problem(error.message)));
  addEventListener("resize", drawMap);
  $("keys-on").checked = state.keys;
  $("keys-on").addEventListener("change", () => {
    state.keys = $("keys-on").checked;
    stored("keys", state.keys ? "on" : "off");
  });
  addEventListener("pagehide", () => {
    const body = JSON.stringify({ annotator: state.annotator, client: state.client });
    fetch("api/leave", { method: "POST", headers: { "content-type": "application/json" }, body, keepalive: true }).catch(() => {});
  });
}

formatGuidelines();
connect();
await askName();
await load();
$("main").focus();
document.body.dataset.ready = "yes";
