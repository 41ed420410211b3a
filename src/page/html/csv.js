// Tables as CSV files (RFC 4180).
import {el} from "./dom.js";

/** A cell: quoted where it must be. What a spreadsheet would run as a formula is made a text by an apostrophe. */
export function csvCell(value) {
  let text = String(value ?? "");
  if (typeof value !== "number" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvText(titles, rows) {
  return [titles, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

/** Hands a text to the user as a file. */
export function saveText(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], {type}));
  const link = el("a", {href: address, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}
