// Profiles the processor's time and the garbage of a request. Samples of the router under load are added up by the file
// of the project that ran or had called the running code, and by the functions with the most time of their own.
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

/** Returns microseconds and kilobytes a request, at this number of connections. */
export async function profileRequests(
  router: ProfiledRouter,
  connections: number,
  seconds: number,
): Promise<string> {
  const session = await openInspector(router.inspector);
  const time = await profileTime(session, router, connections, seconds);
  const garbage = await profileGarbage(session, router, connections, seconds);
  session.close();
  return time + garbage;
}

async function profileTime(
  session: Inspector,
  { pid, target }: ProfiledRouter,
  connections: number,
  seconds: number,
): Promise<string> {
  await session.call("Profiler.enable");
  await session.call("Profiler.setSamplingInterval", { interval: 200 });
  await session.call("Profiler.start");
  const before = cpuMicrosUnder(pid);
  const { requests } = await closedLoop(target, connections, seconds);
  const micros = (cpuMicrosUnder(pid) - before) / requests;
  const { profile } = (await session.call("Profiler.stop")) as { profile: Profile };
  const { places, functions } = sumOf(timesOf(profile));
  const title = (what: string) =>
    `${what}, ${connections} connections: ${micros.toFixed(0)} µs of the processor a request, sampling included`;
  return (
    table(title("where the time goes"), ["µs/req"], rowsOf(places, requests, PARTS)) +
    table(title("functions themselves"), ["µs/req"], rowsOf(functions, requests, FUNCTIONS))
  );
}

/** Counts all allocations meanwhile, including freed ones; buffers outside of the heap are not among them. */
async function profileGarbage(
  session: Inspector,
  { target }: ProfiledRouter,
  connections: number,
  seconds: number,
): Promise<string> {
  await session.call("HeapProfiler.enable");
  await session.call("HeapProfiler.startSampling", {
    samplingInterval: 8192,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  const { requests } = await closedLoop(target, connections, seconds);
  const { profile } = (await session.call("HeapProfiler.stopSampling")) as { profile: { head: Allocations } };
  const { places, functions } = sumOf(allocationsOf(profile.head));
  const kilobytes = [...functions.values()].reduce((sum, bytes) => sum + bytes, 0) / 1024 / requests;
  const title = (what: string) =>
    `${what}, ${connections} connections: ${kilobytes.toFixed(1)} KB allocated a request`;
  return (
    table(title("where the garbage comes from"), ["bytes/req"], rowsOf(places, requests, PARTS)) +
    table(title("functions themselves"), ["bytes/req"], rowsOf(functions, requests, FUNCTIONS))
  );
}

interface Frame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** Samples of a function, and its callers, the nearest first. */
interface Sample {
  readonly frame: Frame;
  readonly callers: readonly Frame[];
  readonly amount: number;
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

interface Allocations {
  readonly callFrame: Frame;
  readonly selfSize: number;
  readonly children: readonly Allocations[];
}

function timesOf({ nodes, samples, timeDeltas }: Profile): Sample[] {
  const self = new Map<number, number>();
  for (const [index, id] of samples.entries()) self.set(id, (self.get(id) ?? 0) + (timeDeltas[index] ?? 0));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  return [...self].map(([id, amount]) => {
    const callers: Frame[] = [];
    for (let at = parents.get(id); at !== undefined; at = parents.get(at)) {
      callers.push(byId.get(at)?.callFrame ?? NOBODY);
    }
    return { frame: byId.get(id)?.callFrame ?? NOBODY, callers, amount };
  });
}

const NOBODY: Frame = { functionName: "", url: "", lineNumber: 0 };

function allocationsOf(node: Allocations, callers: readonly Frame[] = []): Sample[] {
  const inner = [node.callFrame, ...callers];
  return [
    { frame: node.callFrame, callers, amount: node.selfSize },
    ...node.children.flatMap((child) => allocationsOf(child, inner)),
  ];
}

const ASLEEP = new Set(["(idle)", "(program)"]);

function sumOf(samples: readonly Sample[]) {
  const places = new Map<string, number>();
  const functions = new Map<string, number>();
  const add = (to: Map<string, number>, name: string, amount: number) =>
    to.set(name, (to.get(name) ?? 0) + amount);
  for (const { frame, callers, amount } of samples) {
    if (amount === 0 || ASLEEP.has(frame.functionName)) continue;
    const own = [frame, ...callers].map(({ url }) => ownPlace(url)).find((place) => place !== undefined);
    add(places, own ?? libraryOf(frame), amount);
    const where = ownPlace(frame.url) ?? libraryOf(frame);
    add(functions, `${frame.functionName || "(anonymous)"}:${frame.lineNumber + 1} ${where}`, amount);
  }
  return { places, functions };
}

/** Returns `services/text-proxy/src/answer` for a file of the project. */
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

type Inspector = Awaited<ReturnType<typeof openInspector>>;

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
