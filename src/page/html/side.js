// The side panel: everything about what is selected, with links to what it names, and the way back.
import {el, shorten} from "./dom.js";
import {inAStep} from "./format.js";
import {comparisonOf} from "./match.js";
import {copyText, factList, layoutChip, link, nameOf, part} from "./parts.js";
import {opSections, signatureChips} from "./side_op.js";
import {tensorSections} from "./side_tensor.js";
import {scopeSections, transitionSections} from "./side_transition.js";

const SIDE_KINDS = [
  {kind: "op", title: "Op", sections: opSections, find: (model, name) => model.graph.ops.name.indexOf(name)},
  {kind: "tensor", title: "Tensor", sections: tensorSections, find: (model, name) => model.graph.tensors.name.indexOf(name)},
  {kind: "transition", title: "Collective", sections: transitionSections,
    find: (model, name) => /^[0-9]+$/.test(name) && Number(name) < (model.transitions?.tensor.length ?? 0) ? Number(name) : -1},
  {kind: "scope", title: "Scope", sections: scopeSections, find: (model, name) => model.outline.path.indexOf(name)},
];

/** "#op=NAME" of a selection, and of the second plan "#op=NAME&plan=1". */
export function fragmentOf(models, selection) {
  if (selection === null) return "";
  const {kind, id, plan} = selection;
  const name = kind === "transition" ? String(id) : nameOf(models[plan], selection);
  return `#${kind}=${encodeURIComponent(name)}${plan > 0 ? `&plan=${plan}` : ""}`;
}

/** The selection that a fragment names; null: none. */
export function selectionOf(models, fragment) {
  const fields = new Map(fragment.slice(1).split("&").map((field) => field.split("=", 2)));
  const plan = Number(fields.get("plan") ?? 0);
  if (!models[plan]) return null;
  for (const {kind, find} of SIDE_KINDS) {
    if (!fields.has(kind)) continue;
    const id = find(models[plan], decode(fields.get(kind)));
    if (id >= 0) return {kind, id, plan};
  }
  return null;
}

function decode(text) {
  try {
    return decodeURIComponent(text ?? "");
  } catch {  // a stray "%"
    return text;
  }
}

/** Selections in their order, and where in it the user is. */
class Visits {
  #past = [];
  #at = -1;

  /** Of one that back or forward came to: nothing. */
  add(selection) {
    if (this.#past[this.#at] === selection) return;
    this.#past.length = this.#at + 1;
    this.#past.push(selection);
    ++this.#at;
  }

  /** Another one, `by` from here; undefined: there is none. */
  go(by) {
    const next = this.#past[this.#at + by];
    if (next !== undefined) this.#at += by;
    return next;
  }

  has(by) {
    return this.#past[this.#at + by] !== undefined;
  }
}

function heading(page, selection) {
  const model = page.models[selection.plan];
  const name = nameOf(model, selection);
  const title = SIDE_KINDS.find(({kind}) => kind === selection.kind).title;
  const plan = page.models.length > 1 ? `, plan ${selection.plan === 0 ? "before" : "after"}` : "";
  const copy = el("button", {type: "button", class: "copy", "aria-label": "Copy name", onclick: () => copyText(name)}, "Copy name");
  return el("div", {class: "heading"}, el("span", {class: `kind ${selection.kind}`}, `${title}${plan}`), copy,
      el("h2", {title: name.slice(0, 2000), tabindex: -1}, el("bdi", {}, shorten(name, 240))));
}

/** In a page of two plans: the same thing in the other one. */
function otherPlan(page, selection) {
  const comparison = comparisonOf(page);
  if (comparison === null) return null;
  const title = `In the plan ${selection.plan === 0 ? "after" : "before"}`;
  const other = comparison.counterpart(selection);
  if (other === null) return part(title, true, el("p", {}, "It is not there."));
  const model = page.models[other.plan];
  const rows = [["there", link(page, model, other.kind, other.id)]];
  if (other.kind === "op" && !model.bare) {
    const record = model.record(other.id);
    rows.push(["layouts", signatureChips(model, record)], ["because", `${model.head.strategy}: ${record.reason}`],
        ["time", inAStep(model.decisions.seconds[other.id], model.schedule.runs[other.id])]);
  } else if (other.kind === "tensor" && !model.bare) {
    rows.push(["layout", layoutChip(model, model.decisions.source[other.id])]);
  } else if (other.kind === "transition") {
    rows.push(["time", inAStep(model.transitions.seconds[other.id], model.transitions.runs[other.id])],
        ["because", model.transitions.reasons[model.transitions.reason[other.id]]]);
  }
  return part(title, true, factList(rows));
}

function navigation(page, visits, close) {
  const back = el("button", {type: "button", "aria-label": "Back", title: "Back (Alt+Left)", onclick: () => go(-1)}, "←");
  const forward = el("button", {type: "button", "aria-label": "Forward", title: "Forward (Alt+Right)", onclick: () => go(1)}, "→");
  const closing = el("button", {type: "button", "aria-label": "Close", title: "Close (Escape)", onclick: close}, "×");
  const go = (by) => {
    const next = visits.go(by);
    if (next !== undefined) page.store.set("selection", next);
  };
  document.addEventListener("keydown", (event) => {
    if (!event.altKey || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
    event.preventDefault();
    go(event.key === "ArrowLeft" ? -1 : 1);
  });
  const update = () => {
    back.disabled = !visits.has(-1);
    forward.disabled = !visits.has(1);
  };
  return {bar: el("div", {class: "visits"}, back, forward, el("span", {class: "grow"}), closing), update};
}

/** A page within a page of another origin, as in a notebook, may not change its address; all else works there. */
function showAddress(fragment) {
  try {
    history.replaceState(null, "", fragment || location.pathname);
  } catch (error) {
    if (error.name !== "SecurityError") throw error;
  }
}

/** Fills `element` with what is selected, from now on; hides it while nothing is. */
function mountSide(element, page) {
  const {models, store} = page;
  const visits = new Visits();
  let opener = null;  // what had the focus before it came in here
  element.addEventListener("focusin", ({relatedTarget}) => {
    if (relatedTarget !== null && !element.contains(relatedTarget)) opener = relatedTarget;
  });
  const close = () => {
    const hadFocus = element.contains(document.activeElement);
    store.set("selection", null);
    if (hadFocus) (opener?.isConnected ? opener : document.querySelector("[role=tab][aria-selected=true]"))?.focus();
  };
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    close();
  });
  const {bar, update} = navigation(page, visits, close);
  element.append(bar);
  const show = (selection) => {
    // Before all else: the views ask for it when they hear of the selection.
    store.set("counterpart", selection === null ? null : comparisonOf(page)?.counterpart(selection) ?? null);
    element.hidden = selection === null;
    const body = element.querySelector(".body");
    const followed = body?.contains(document.activeElement);  // a link in it: the focus goes on to what it shows
    body?.remove();
    if (selection === null) return;
    visits.add(selection);
    update();
    // A new element begins at its top, without asking for its layout now.
    element.append(el("div", {class: "body"}, heading(page, selection), sectionsOf(page, selection)));
    if (followed) element.querySelector("h2").focus({preventScroll: true});
  };
  store.on("selection", (selection) => {
    show(selection);
    showAddress(fragmentOf(models, selection));
  });
  addEventListener("hashchange", () => {
    const selection = selectionOf(models, location.hash);
    if (selection !== null) store.set("selection", selection);
  });
  show(store.get("selection"));
  const asked = selectionOf(models, location.hash);
  if (asked !== null) store.set("selection", asked);
}

function sectionsOf(page, selection) {
  const row = SIDE_KINDS.find(({kind}) => kind === selection.kind);
  const [first, ...rest] = row.sections(page, page.models[selection.plan], selection.id);
  return [first, otherPlan(page, selection), ...rest].flat(Infinity).filter((section) => section !== null);
}

export const sidePanel = {id: "side", title: "Selection", mount: mountSide};
