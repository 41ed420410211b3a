// Numbers as the program prints them (base/text.h): three digits, units of 10^3.

function scaled(value, units, step) {
  let unit = 0;
  while (unit + 1 < units.length && Math.abs(value) >= step * 0.9995) {
    value /= step;
    ++unit;
  }
  return `${threeDigits(value)} ${units[unit]}`.trim();
}

export function threeDigits(value) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const size = Math.abs(Number(value.toPrecision(3)));  // 99.96 is 100
  const digits = Math.max(0, 2 - Math.floor(Math.log10(size) + 1e-9));
  return value.toFixed(Math.min(digits, 6));
}

/** 0.0031 -> "3.10 ms" */
export function seconds(value) {
  const size = Math.abs(value);
  if (size < 5e-12) return "0 s";  // less than is written: what rounding leaves of sums
  if (size >= 0.9995) return `${threeDigits(value)} s`;
  if (size >= 0.9995e-3) return `${threeDigits(value * 1e3)} ms`;
  if (size >= 0.9995e-6) return `${threeDigits(value * 1e6)} us`;
  return `${threeDigits(value * 1e9)} ns`;
}

/** 2097152 -> "2.10 MB" */
export function bytes(value) {
  if (Number.isInteger(value) && value >= 0 && value < 1000) return `${value} B`;
  return scaled(value, ["B", "kB", "MB", "GB", "TB", "PB", "EB"], 1000);
}

export function count(value) {
  return value < 1e6 ? String(Math.round(value)) : scaled(value, ["", "k", "M", "G", "T", "P", "E"], 1000);
}

/** 1, "row" -> "1 row"; 2, "row" -> "2 rows" */
export function counted(value, word) {
  return `${count(value)} ${word}${value === 1 ? "" : "s"}`;
}

export function percent(part) {
  return `${threeDigits(part * 100)} %`;
}

/** Of what runs `runs` times a step: 3.27e-6, 4 -> "13.1 us (4 × 3.27 us)"; `show`: seconds or bytes. */
export function inAStep(value, runs, show = seconds) {
  return runs > 1 ? `${show(value * runs)} (${runs} × ${show(value)})` : show(value);
}
