// Opens the page: reads the document, then shows bar, panels and the side panel.
import {readDocument} from "./document.js";
import {el} from "./dom.js";
import {Model} from "./model.js";
import {PANELS} from "./panels.js";
import {Store} from "./store.js";

function tabs(page, main) {
  const mounted = new Map();
  const show = (id) => {
    const panel = PANELS.find((row) => row.id === id) ?? PANELS[0];
    if (!mounted.has(panel.id)) {
      const element = el("section", {class: `panel ${panel.id}`, role: "tabpanel", "aria-label": panel.title});
      main.append(element);
      mounted.set(panel.id, element);
      panel.mount(element, page);
    }
    for (const [other, element] of mounted) element.hidden = other !== panel.id;
    for (const button of bar.children) button.setAttribute("aria-selected", String(button.dataset.panel === panel.id));
  };
  const bar = el("nav", {class: "tabs", role: "tablist"},
      PANELS.map(({id, title}) => el("button", {role: "tab", "data-panel": id, onclick: () => page.store.set("panel", id)}, title)));
  page.store.on("panel", show);
  return {bar, show};
}

async function open() {
  const app = document.getElementById("app");
  const {plans} = await readDocument();
  const page = {models: plans.map((plan, index) => new Model(plan, index)), store: new Store()};
  const main = el("main", {});
  const {bar, show} = tabs(page, main);
  app.replaceChildren(el("header", {}, el("h1", {}, page.models[0].head.name), bar), main);
  show(page.store.get("panel"));
  app.removeAttribute("aria-busy");
}

open().catch((error) => {
  document.getElementById("app").replaceChildren(el("p", {role: "alert"}, `This plan cannot be shown: ${error.message}`));
  throw error;
});
