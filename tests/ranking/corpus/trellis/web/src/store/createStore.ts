type Listener<S> = (state: S, before: S) => void;

/** A value that can be watched. */
export interface Store<S> {
  get(): S;
  set(change: Partial<S> | ((state: S) => Partial<S>)): void;
  subscribe(listener: Listener<S>): () => void;
}

export function createStore<S extends object>(initial: S): Store<S> {
  let state = initial;
  const listeners = new Set<Listener<S>>();
  let notifying = false;

  return {
    get: () => state,
    set(change) {
      if (notifying) {
        throw new Error("a listener must not change the store that it listens to");
      }
      const before = state;
      const changed = typeof change === "function" ? change(state) : change;
      state = { ...state, ...changed };
      notifying = true;
      try {
        listeners.forEach((listener) => listener(state, before));
      } finally {
        notifying = false;
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Keeps a copy of some fields in `localStorage`, so that they survive a reload. */
export function persist<S extends object>(store: Store<S>, key: string, fields: (keyof S)[]): void {
  const kept = localStorage.getItem(key);
  if (kept) {
    store.set(JSON.parse(kept) as Partial<S>);
  }
  store.subscribe((state) => {
    const picked = Object.fromEntries(fields.map((field) => [field, state[field]]));
    localStorage.setItem(key, JSON.stringify(picked));
  });
}
