// Colours of graphs: three kinds of frames are the three phases of a step.

export const PAINT = {
  light: {
    changed: "#a8480a", paper: "#ffffff", ink: "#1b2430", quiet: "#55606f", border: "#7d8aa0", edge: "#8694aa", accent: "#1f5fbf",
    mark: "#ffffff",
    frames: [["#f8fafd", "#eff4fa"], ["#fbf6fd", "#f3e9f8"], ["#fdf8f0", "#f8eedd"]],
    frameLines: ["#aeb9ca", "#c2a2d1", "#cfb88e"],
    chips: {S: ["#d6e6fa", "#123a70"], B: ["#eceef2", "#3c434e"], P: ["#fde3c8", "#6b3303"]},
  },
  dark: {
    changed: "#ffb066", paper: "#14181f", ink: "#e6ebf2", quiet: "#a3aebd", border: "#65748c", edge: "#6b7a92", accent: "#7fb2ff",
    mark: "#f2f5f9",
    frames: [["#181e27", "#1c242f"], ["#1f1826", "#271e30"], ["#231d14", "#2b2418"]],
    frameLines: ["#46536a", "#5d4669", "#635133"],
    chips: {S: ["#1d3a61", "#cfe2ff"], B: ["#333a46", "#d5dae2"], P: ["#5e3512", "#ffe0c2"]},
  },
};
