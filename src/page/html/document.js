// The document that the page holds: base64 of zlib's deflated JSON.

/** @returns {Promise<object>} {format, plans: [one, or two to compare]}; sections as src/page/sections.h says. */
export async function readDocument() {
  const text = document.getElementById("document").textContent;
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(inflated).text());
}
