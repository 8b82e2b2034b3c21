// Ask for the panels one after the other, for the state of the form; a new state ends the old one.
"use strict";

const form = document.querySelector("form");
const formula = document.getElementById("k");
const message = document.getElementById("message");
const status_line = document.getElementById("status");
const fields = document.getElementById("fields");
const panels = [...document.querySelectorAll("[data-panel]")];
// Each tab has a process of its own.
const tab = crypto.randomUUID();
const QUIET = 350, SHOWN = 1000, LONGEST_LINK = 4000;
let run = 0, waiting = 0;

function state() {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value.trim()) query.set(name, value);
  return query;
}

function later(delay) {
  clearTimeout(waiting);
  waiting = setTimeout(ask, delay);
}

async function ask() {
  clearTimeout(waiting);
  const own = ++run, query = state(), link = "?" + query;
  if (link.length <= LONGEST_LINK) history.replaceState(null, "", link);
  document.title = formula.value.slice(0, 60) + " · kernel-spectra";
  for (const panel of panels) panel.setAttribute("aria-busy", "true");
  for (const panel of panels) {
    const answer = await fetched(panel, query, own);
    if (own !== run) return;
    if (panel.dataset.panel === "kernel" && refused(answer)) return;
    panel.innerHTML = answer.html;
    panel.removeAttribute("aria-busy");
  }
  status_line.textContent = "All answers are shown.";
}

async function fetched(panel, query, own) {
  const line = panel.previousElementSibling, begin = Date.now(), title = panel.dataset.title;
  const body = new URLSearchParams(query);
  body.set("tab", tab);
  const ticking = setInterval(() => {
    const seconds = (Date.now() - begin) / 1000;
    if (own !== run || seconds * 1000 < SHOWN) return;
    if (!line.textContent) status_line.textContent = title + ": computing.";
    line.textContent = `computing … ${seconds.toFixed(0)} s`;
  }, 250);
  try {
    const response = await fetch("/panel/" + panel.dataset.panel, { method: "POST", body });
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    const answer = await response.json();
    if (answer.superseded && own === run) throw new Error("its process ended; press Show to ask again");
    return answer;
  } catch (error) {
    return { html: told(`No answer: ${error.message}. Is the command spectra explore still running?`), refused: true };
  } finally {
    clearInterval(ticking);
    if (own === run) line.textContent = "";
  }
}

function told(text) {
  const paragraph = document.createElement("p");
  paragraph.textContent = text;
  return `<div class="refusal">${paragraph.outerHTML}</div>`;
}

// A kernel that cannot be read is told of under its formula, and nothing else is asked.
function refused(answer) {
  document.getElementById("answers").classList.toggle("refused", answer.refused);
  if (!answer.refused) {
    message.innerHTML = "";
    formula.removeAttribute("aria-invalid");
    if (answer.fields) show(answer.fields);
    return false;
  }
  message.innerHTML = answer.html;
  formula.setAttribute("aria-invalid", "true");
  status_line.textContent = "";
  return true;
}

// The parameters that the formula has; a field that is being edited stays as it is.
function show(wanted) {
  const shown = [...fields.querySelectorAll("input[name]")].map((input) => input.name.slice(2));
  const ready = fields.querySelector("input[type=range]") || !wanted.length;
  if (ready && shown.join() === wanted.map(([name]) => name).join()) return;
  fields.replaceChildren(...wanted.map(([name, value]) => field(name, value)));
}

function field(name, value) {
  const row = document.createElement("p");
  row.className = "moved";
  const label = document.createElement("label"), input = document.createElement("input");
  const slider = document.createElement("input");
  label.htmlFor = input.id = input.name = "p." + name;
  label.textContent = name;
  input.value = value;
  slider.type = "range";
  [slider.min, slider.max, slider.step, slider.value] = [-1, 1, 0.02, 0];
  slider.dataset.moves = input.id;
  slider.dataset.from = input.value;
  slider.setAttribute("aria-label", "Move " + name);
  row.append(label, input, slider);
  return row;
}

// A slider moves d over whole numbers, and a parameter by up to ten times each way.
function move(slider) {
  const input = document.getElementById(slider.dataset.moves);
  if (slider.dataset.from === undefined) input.value = slider.value;
  else input.value = Number((number(slider.dataset.from) * 10 ** slider.value).toPrecision(3));
  slider.setAttribute("aria-valuetext", input.value);
}

function number(text) {
  const [above, below] = text.split("/").map(Number);
  const value = below === undefined ? above : above / below;
  return Number.isFinite(value) && value !== 0 ? value : 1;
}

form.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
form.addEventListener("input", (event) => {
  const input = event.target, slider = form.querySelector(`[data-moves="${CSS.escape(input.id)}"]`);
  if (input.type === "range") { move(input); later(QUIET / 3); return; }
  if (slider && slider.dataset.from === undefined) slider.value = input.value;
  else if (slider) { slider.dataset.from = input.value; slider.value = 0; }
  later(QUIET);
});
form.addEventListener("click", (event) => {
  const name = event.target.dataset.add;
  if (!name) return;
  fields.append(field(name, "1"));
  document.getElementById("p." + name).focus();
  ask();
});
for (const slider of form.querySelectorAll("[type=range]")) slider.setAttribute("aria-valuetext", slider.value);
ask();
