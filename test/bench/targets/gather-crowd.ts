// Gathers a crowd of connections in processes of their own, since the descriptors of one process are limited.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const CROWD = fileURLToPath(new URL("./crowd.ts", import.meta.url));
/** Most descriptors of one process. */
const OF_ONE_PROCESS = 5_000;

export interface Crowd {
  opened(): Promise<void>;
  leave(): void;
}

/** @param kind idle connections send nothing; readers request the URL and read no answer */
export function gather(kind: "idle" | "reader", url: string, count: number): Crowd {
  const children: ChildProcess[] = [];
  for (let left = count; left > 0; left -= OF_ONE_PROCESS) {
    children.push(fork(CROWD, [kind, url, String(Math.min(left, OF_ONE_PROCESS))]));
  }
  const ready = children.map((child) => once(child, "message"));
  return {
    opened: async () => void (await Promise.all(ready)),
    leave: () => {
      for (const child of children) child.disconnect();
    },
  };
}
