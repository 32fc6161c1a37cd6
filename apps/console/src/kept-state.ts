// Kept state owns values that survive leaving a page: drafts, conversations, running requests of the playground.
// Stored places also survive a reload. The key of a place contains the person; signing out deletes all places.
import { useCallback, useSyncExternalStore } from "react";

const PREFIX = "generation-router.kept.";

export interface KeptPlace<Value> {
  readonly key: string;
  readonly initial: Value;
  /** Reads the value of an earlier load of the page; absent = the place is not stored. */
  readonly parse?: (stored: unknown) => Value;
}

const values = new Map<string, unknown>();
const watchers = new Map<string, Set<() => void>>();

export function readKept<Value>({ key, initial, parse }: KeptPlace<Value>): Value {
  if (!values.has(key)) values.set(key, parse === undefined ? initial : parse(readStored(key)));
  return values.get(key) as Value;
}

export function changeKept<Value>(place: KeptPlace<Value>, change: (before: Value) => Value): void {
  const after = change(readKept(place));
  values.set(place.key, after);
  if (place.parse !== undefined) store(place.key, after);
  for (const watcher of watchers.get(place.key) ?? []) watcher();
}

export function useKept<Value>(place: KeptPlace<Value>): [Value, (change: (before: Value) => Value) => void] {
  const { key } = place;
  const watch = useCallback(
    (watcher: () => void) => {
      const all = watchers.get(key) ?? new Set();
      watchers.set(key, all.add(watcher));
      return () => void all.delete(watcher);
    },
    [key],
  );
  const value = useSyncExternalStore(watch, () => readKept(place));
  return [value, (change) => changeKept(place, change)];
}

/** Deletes all places, on this page and in the storage of the browser. */
export function forgetKept(): void {
  values.clear();
  for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  for (const all of watchers.values()) for (const watcher of all) watcher();
}

/**
 * Returns the stored fields that have the type of the initial ones. A field with the initial value null accepts text
 * and numbers.
 */
export function filled<Value extends object>(initial: Value, stored: unknown): Value {
  if (typeof stored !== "object" || stored === null) return initial;
  const fits = (before: unknown, found: unknown) =>
    before === null
      ? found === null || typeof found === "string" || typeof found === "number"
      : typeof found === typeof before && Array.isArray(found) === Array.isArray(before) && found !== null;
  const known = Object.entries(stored).filter(
    ([name, found]) => name in initial && fits(initial[name as keyof Value], found),
  );
  return { ...initial, ...Object.fromEntries(known) };
}

function readStored(key: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + key) ?? "null");
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** A value above the quota of the browser is not stored, and remains on this page. */
function store(key: string, value: unknown): void {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    localStorage.removeItem(PREFIX + key);
  }
}
