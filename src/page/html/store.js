// What the user has chosen, and who wants to know when it changes.

/**
 * Keys: `selection` (null, or {kind: "op" | "tensor" | "transition" | "scope", id, plan (0, or 1 of two plans)}),
 * `counterpart` (of a page of two plans: the same thing in the other one, as a selection, or null),
 * `onlyChanges` (of two plans: what did not change is folded and faint), `overlay` (name of a row of overlays.js), `panel` (id of the open panel), `theme` ("light", "dark").
 */
export class Store {
  #values = {selection: null, counterpart: null, onlyChanges: false, overlay: "sharing", panel: "graph", theme: "light"};
  #listeners = new Map();

  get(key) {
    return this.#values[key];
  }

  set(key, value) {
    if (this.#values[key] === value) return;
    this.#values[key] = value;
    for (const listener of this.#listeners.get(key) ?? []) tell(listener, value);
  }

  /** Calls `listener(value)` after each change of `key`; returns what ends that. */
  on(key, listener) {
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  select(kind, id, plan = 0) {
    this.set("selection", {kind, id, plan});
  }
}

/** An error of one who listens is reported as any other is, and keeps nobody else from hearing. */
function tell(listener, value) {
  try {
    listener(value);
  } catch (error) {
    setTimeout(() => { throw error; });
  }
}
