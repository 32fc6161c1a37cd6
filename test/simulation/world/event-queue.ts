// What is to happen, by virtual time. Of events at the same millisecond a random one comes first, so that no order of
// arrival is ever relied on. A binary heap.

interface Event {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
  readonly background: boolean;
}

export class EventQueue {
  readonly #heap: Event[] = [];
  /** Events that something waits for; a history is at rest without them. */
  #essential = 0;

  get essential(): number {
    return this.#essential;
  }

  /** @param background periodic work that would go on for ever */
  push(at: number, order: number, run: () => void, background: boolean): void {
    const event: Event = { at, order, run, background };
    if (!background) this.#essential += 1;
    const heap = this.#heap;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !before(event, parent)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = event;
  }

  pop(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) return undefined;
    if (!first.background) this.#essential -= 1;
    if (heap.length > 0) this.#sink(last);
    return first;
  }

  #sink(event: Event): void {
    const heap = this.#heap;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      let child = heap[below];
      if (child === undefined) break;
      const right = heap[below + 1];
      if (right !== undefined && before(right, child)) {
        child = right;
        below += 1;
      }
      if (!before(child, event)) break;
      heap[index] = child;
      index = below;
    }
    heap[index] = event;
  }
}

function before(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
