// What fills the intervals of the schedule, and its legend.
import {SERIES, seriesFill, seriesSample} from "./chart.js";
import {el} from "./dom.js";
import {PHASES} from "./model.js";

const PHASE_SERIES = [SERIES[0], SERIES[1], SERIES[3]];
const EXPOSED = {light: "#cc6677", dark: "#c45566", pattern: "diagonal"};

/** What fills intervals, made once a drawing: patterns are dear. */
export class Fills {
  constructor(context, model, theme) {
    const ofSeries = (series) => ({fill: seriesFill(context, series, theme), color: series[theme]});
    this.phase = model.graph.ops.phase;
    this.phases = PHASE_SERIES.map(ofSeries);
    this.kinds = model.transitions.kinds.map(({fill}) => ({fill, color: fill}));
    this.exposed = ofSeries(EXPOSED);
    this.local = ofSeries(SERIES[4]);
  }

  of(row, i) {
    if (row.isExposed) return this.exposed;
    if (row.kind >= 0) return this.kinds[row.kind];
    return row.op[i] < 0 ? this.local : this.phases[this.phase[row.op[i]]];
  }
}

export function scheduleLegend(theme, model) {
  return el("span", {class: "scale"},
      PHASES.map((phase, i) => el("span", {}, seriesSample(PHASE_SERIES[i], theme), ` ${phase[0].toUpperCase()}: ${phase}`)),
      el("span", {}, seriesSample(SERIES[4], theme), " slices and copies"),
      model.transitions.tensor.length > 0 ? el("span", {}, seriesSample(EXPOSED, theme), " exposed communication") : null);
}
