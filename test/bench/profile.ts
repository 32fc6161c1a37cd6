// Where the processor's time of a request goes: samples of the router under load, added up by the folder of the
// project whose code was running or had called what was running, and the functions that took the most themselves.
import { closedLoop, type Target } from "./load.ts";
import { cpuMicrosUnder } from "./processes.ts";
import { table } from "./table.ts";

const PARTS = 24;
const FUNCTIONS = 40;

export interface ProfiledRouter {
  readonly pid: number;
  readonly target: Target;
  /** Address of the inspector, as Node prints it. */
  readonly inspector: string;
}

/** Microseconds a request, at so many connections. */
export async function profileRequests(
  { pid, target, inspector }: ProfiledRouter,
  connections: number,
  seconds: number,
): Promise<string> {
  const session = await openInspector(inspector);
  await session.call("Profiler.enable");
  await session.call("Profiler.setSamplingInterval", { interval: 200 });
  await session.call("Profiler.start");
  const before = cpuMicrosUnder(pid);
  const { requests } = await closedLoop(target, connections, seconds);
  const micros = (cpuMicrosUnder(pid) - before) / requests;
  const { profile } = (await session.call("Profiler.stop")) as { profile: Profile };
  session.close();
  const { places, functions } = sumOf(profile);
  const title = (what: string) =>
    `${what}, ${connections} connections: ${micros.toFixed(0)} µs of the processor a request, sampling included`;
  return (
    table(title("where the time goes"), ["µs/req"], rowsOf(places, requests, PARTS)) +
    table(title("functions themselves"), ["µs/req"], rowsOf(functions, requests, FUNCTIONS))
  );
}

interface Frame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: Frame;
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const ASLEEP = new Set(["(idle)", "(program)"]);

function sumOf({ nodes, samples, timeDeltas }: Profile) {
  const self = new Map<number, number>();
  for (const [index, id] of samples.entries()) self.set(id, (self.get(id) ?? 0) + (timeDeltas[index] ?? 0));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const places = new Map<string, number>();
  const functions = new Map<string, number>();
  const add = (to: Map<string, number>, name: string, micros: number) =>
    to.set(name, (to.get(name) ?? 0) + micros);
  for (const [id, micros] of self) {
    const frame = frames.get(id);
    if (frame === undefined || ASLEEP.has(frame.functionName)) continue;
    let at: number | undefined = id;
    let place: string | undefined;
    while (place === undefined && at !== undefined) {
      place = ownPlace(frames.get(at)?.url ?? "");
      at = parents.get(at);
    }
    add(places, place ?? libraryOf(frame), micros);
    const where = ownPlace(frame.url) ?? libraryOf(frame);
    add(functions, `${frame.functionName || "(anonymous)"}:${frame.lineNumber + 1} ${where}`, micros);
  }
  return { places, functions };
}

/** `services/text-proxy/src/answer` of a file of the project. */
function ownPlace(url: string): string | undefined {
  if (!url.startsWith("file:") || url.includes("/node_modules/")) return undefined;
  const root = new URL("../../", import.meta.url).href;
  return url.startsWith(root) ? url.slice(root.length).replace(/\.ts$/, "") : undefined;
}

function libraryOf({ functionName, url }: Frame): string {
  if (url === "") return functionName === "(garbage collector)" ? functionName : "native";
  if (url.startsWith("node:")) return url;
  return /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? url;
}

function rowsOf(sums: ReadonlyMap<string, number>, requests: number, most: number) {
  return [...sums]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, most)
    .map(([name, micros]) => ({ name, values: [micros / requests] }));
}

async function openInspector(address: string) {
  const socket = new WebSocket(address);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", reject, { once: true });
  });
  const waiting = new Map<number, (result: unknown) => void>();
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data));
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  let last = 0;
  const call = (method: string, params: object = {}) => {
    last += 1;
    socket.send(JSON.stringify({ id: last, method, params }));
    return new Promise<unknown>((resolve) => waiting.set(last, resolve));
  };
  return { call, close: () => socket.close() };
}
