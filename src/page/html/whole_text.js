// What the focus is on says its whole text where it is shown cut, as the pointer's titles do: names, reasons, hints.
import {el, shorten} from "./dom.js";

const MOST_LETTERS = 2000;
const GAP = 4;  // pixels from what it tells of
const tip = el("div", {class: "whole-text", "aria-hidden": "true", hidden: true});  // readers have the titles themselves

function isCut(element) {
  const title = element.getAttribute("title");
  return title !== null && title !== "" && !element.matches(".chips") &&
      (element.scrollWidth > element.clientWidth + 1 || !element.textContent.includes(title));
}

/** Shows beside an element what of it, and of what it holds, is cut; nothing where all of it is seen. */
export function tellWhole(element) {
  const around = element.parentElement?.hasAttribute("title") ? [element.parentElement] : [];
  const texts = [...around, element, ...element.querySelectorAll("[title]")].filter(isCut)
      .map((cut) => shorten(cut.getAttribute("title"), MOST_LETTERS));
  tip.hidden = texts.length === 0;
  if (tip.hidden) return;
  tip.replaceChildren(...[...new Set(texts)].map((text) => el("div", {}, el("bdi", {}, text))));
  if (!tip.isConnected) document.body.append(tip);
  const box = element.getBoundingClientRect();
  const {offsetWidth: width, offsetHeight: height} = tip;
  const below = box.bottom + GAP + height <= innerHeight;
  tip.style.left = `${Math.max(GAP, Math.min(box.left, innerWidth - width - GAP))}px`;
  tip.style.top = `${below ? box.bottom + GAP : Math.max(GAP, box.top - GAP - height)}px`;
}

export function hideWhole() {
  tip.hidden = true;
}

/** From now on, of whatever the keyboard reaches. */
export function followFocus() {
  document.addEventListener("focusin", ({target}) => {
    if (!(target instanceof Element) || target.matches("[role=grid]")) return;  // tells of its current row itself
    if (target.matches(":focus-visible")) tellWhole(target);
    else hideWhole();
  });
  for (const leaving of ["focusout", "pointerdown", "wheel"]) document.addEventListener(leaving, hideWhole, {passive: true});
  document.addEventListener("keydown", ({key}) => {
    if (key === "Escape") hideWhole();
  });
}
