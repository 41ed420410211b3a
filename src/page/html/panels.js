// The table of panels. A panel is a module and a row: `mount(element, page)` fills an element once, when the panel is
// first opened, and listens to the store from then on. `page`: {models, store}.
import {aboutPanel} from "./about.js";

export const PANELS = [
  aboutPanel,
];
