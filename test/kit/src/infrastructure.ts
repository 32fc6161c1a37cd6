// What the jest run has started. Setup and teardown are loaded apart from each other in one process, so they meet
// on a symbol of the process.

export interface Infrastructure {
  readonly servers: { stop(): Promise<void> }[];
}

const KEY = Symbol.for("generation-router test infrastructure");
const holder = globalThis as { [KEY]?: Infrastructure };

holder[KEY] ??= { servers: [] };
export const infrastructure: Infrastructure = holder[KEY];
