// The servers of the jest run. Setup and teardown are loaded separately in one process, so they share
// a symbol of the process.

export interface Infrastructure {
  readonly servers: { stop(): Promise<void> }[];
}

const KEY = Symbol.for("generation-router test infrastructure");
const holder = globalThis as { [KEY]?: Infrastructure };

holder[KEY] ??= { servers: [] };
export const infrastructure: Infrastructure = holder[KEY];
