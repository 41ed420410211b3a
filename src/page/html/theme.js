// Light or dark: what the system prefers, until the user says otherwise.
import {el} from "./dom.js";

export function themeTool({store}) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = theme === "dark" ? "☀ light" : "☾ dark";
    button.setAttribute("aria-label", `switch to the ${theme === "dark" ? "light" : "dark"} theme`);
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
