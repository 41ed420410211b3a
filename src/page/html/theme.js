// Light or dark: what the system prefers, until the user says otherwise.
import {el} from "./dom.js";

export function themeTool({store}) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    const other = theme === "dark" ? "light" : "dark";
    button.replaceChildren(theme === "dark" ? "☀" : "☾", el("span", {class: "spelled"}, ` ${other}`));
    button.setAttribute("aria-label", `switch to the ${other} theme`);
    button.title = `switch to the ${other} theme`;
  };
  let chosen = false;
  const button = el("button", {class: "tool", onclick: () => {
    chosen = true;
    store.set("theme", store.get("theme") === "dark" ? "light" : "dark");
  }});
  dark.addEventListener("change", () => {
    if (!chosen) store.set("theme", dark.matches ? "dark" : "light");
  });
  store.on("theme", apply);
  store.set("theme", dark.matches ? "dark" : "light");
  apply(store.get("theme"));
  return button;
}
