// The table of panels. A panel is a module and a row: `mount(element, page)` fills an element once, when the panel is
// first opened, and listens to the store from then on; `needsTwo`: only in a page of two plans. `page`: {models, store}.
import {aboutPanel} from "./about.js";
import {diffPanel} from "./diff.js";
import {graphPanel} from "./graph.js";
import {memoryPanel} from "./memory.js";
import {overlayTool} from "./overlays.js";
import {schedulePanel} from "./schedule.js";
import {searchTool} from "./search.js";
import {sidePanel} from "./side.js";
import {tablesPanel} from "./tables.js";
import {themeTool} from "./theme.js";
import {trafficPanel} from "./traffic.js";
import {wherePanel} from "./where.js";

export const PANELS = [
  graphPanel,
  diffPanel,
  wherePanel,
  tablesPanel,
  memoryPanel,
  schedulePanel,
  trafficPanel,
  aboutPanel,
];

/** What stands beside whatever panel is open: {id, title, mount(element, page)}. */
export const BESIDE = [
  sidePanel,
];

/** In the bar, right of the panels' names: tool(page) is an element. */
export const TOOLS = [
  searchTool,
  overlayTool,
  themeTool,
];
