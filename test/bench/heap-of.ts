// Memory of a Node process of the bench after a collection of its garbage, asked through the inspector. The process
// must be started with the environment of `inspectable`. Otherwise its memory includes garbage, of which a process with
// enough memory keeps any amount.
import { residentMegabytes } from "./processes.ts";

const MB = 1024 * 1024;

export interface Memory {
  /** All in MB. Resident memory by the system's count. */
  readonly resident: number;
  /** Live objects of JavaScript. */
  readonly heap: number;
  /** Buffers and other memory of objects outside of the heap. */
  readonly external: number;
}

/** Environment of a process with measurable memory. */
export function inspectable(port: number): { readonly NODE_OPTIONS: string } {
  return { NODE_OPTIONS: `--inspect=127.0.0.1:${port}` };
}

/** Collects all garbage of the process, then measures it. */
export async function collectedMemory(pid: number, inspectorPort: number): Promise<Memory> {
  const targets = await fetch(`http://127.0.0.1:${inspectorPort}/json/list`);
  const [target] = (await targets.json()) as [{ webSocketDebuggerUrl: string }];
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  try {
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve, { once: true });
      socket.addEventListener("error", reject, { once: true });
    });
    await ask(socket, 1, "HeapProfiler.collectGarbage", {});
    const expression = "JSON.stringify(process.memoryUsage())";
    const { result } = (await ask(socket, 2, "Runtime.evaluate", { expression })) as {
      result: { value: string };
    };
    const usage = JSON.parse(result.value) as NodeJS.MemoryUsage;
    return {
      resident: residentMegabytes(pid),
      heap: usage.heapUsed / MB,
      external: usage.external / MB,
    };
  } finally {
    socket.close();
  }
}

function ask(socket: WebSocket, id: number, method: string, params: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const hear = ({ data }: MessageEvent) => {
      const answer = JSON.parse(String(data)) as { id?: number; result?: unknown; error?: object };
      if (answer.id !== id) return;
      socket.removeEventListener("message", hear);
      if (answer.error === undefined) resolve(answer.result);
      else reject(new Error(`${method}: ${JSON.stringify(answer.error)}`));
    };
    socket.addEventListener("message", hear);
    socket.addEventListener("close", () => reject(new Error("the process has ended")), { once: true });
    socket.send(JSON.stringify({ id, method, params }));
  });
}
