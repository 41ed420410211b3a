// Opens the page: reads the document, then shows bar, panels and what stands beside them.
import {readDocument} from "./document.js";
import {el} from "./dom.js";
import {Model} from "./model.js";
import {BESIDE, PANELS, TOOLS} from "./panels.js";
import {planLine} from "./plan_facts.js";
import {Store} from "./store.js";
import {followFocus} from "./whole_text.js";

function tabs(page, main) {
  const panels = PANELS.filter(({needsTwo}) => !needsTwo || page.models.length > 1);
  const mounted = new Map();
  const show = (id) => {
    const panel = panels.find((row) => row.id === id) ?? panels[0];
    if (!mounted.has(panel.id)) {
      const element = el("section", {class: `panel ${panel.id}`, role: "tabpanel", id: `panel-${panel.id}`, "aria-labelledby": `tab-${panel.id}`});
      main.append(element);
      mounted.set(panel.id, element);
      document.getElementById(`tab-${panel.id}`)?.setAttribute("aria-controls", element.id);
      panel.mount(element, page);
    }
    for (const [other, element] of mounted) element.hidden = other !== panel.id;
    for (const button of bar.children) {
      const chosen = button.dataset.panel === panel.id;
      button.setAttribute("aria-selected", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    }
  };
  const bar = el("nav", {class: "tabs", role: "tablist", onkeydown: moveBetweenTabs},
      panels.map(({id, title}) => el("button", {role: "tab", id: `tab-${id}`, "data-panel": id, onclick: () => page.store.set("panel", id)}, title)));
  page.store.on("panel", show);
  return {bar, show};
}

function moveBetweenTabs(event) {
  const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  const buttons = [...event.currentTarget.children];
  const at = buttons.indexOf(document.activeElement);
  if (step === undefined || at < 0) return;
  const next = buttons[(at + step + buttons.length) % buttons.length];
  next.focus();
  next.click();
}

function beside(page) {
  return BESIDE.map(({id, title, mount}) => {
    const element = el("aside", {class: id, "aria-label": title});
    mount(element, page);
    return element;
  });
}

async function open() {
  const app = document.getElementById("app");
  const {plans} = await readDocument();
  const page = {models: plans.map((plan, index) => new Model(plan, index)), store: new Store()};
  if (page.models.length > 1) page.models.forEach((model, index) => { model.other = page.models[1 - index]; });
  const main = el("main", {});
  const {bar, show} = tabs(page, main);
  app.replaceChildren(
      el("header", {}, el("h1", {title: page.models[0].head.model}, page.models[0].head.title), bar,
          el("div", {class: "plan-lines"}, page.models.map((model) => planLine(model, () => page.store.set("panel", "about")))),
          el("div", {class: "tools"}, TOOLS.map((tool) => tool(page)))),
      el("div", {class: "work"}, main, beside(page)));
  show(page.store.get("panel"));
  followFocus();
  app.removeAttribute("aria-busy");
}

open().catch((error) => {
  document.getElementById("app").replaceChildren(el("p", {role: "alert"}, `This plan cannot be shown: ${error.message}`));
  throw error;
});
