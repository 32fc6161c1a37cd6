// Load on one URL, bounded in time. In the closed loop each of n connections sends after its answer. In the open loop
// the rate is fixed, and latency counts from the due time of each request, so that a stall is not hidden.
import { Pool } from "undici";

export interface Target {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface LoadResult {
  readonly requests: number;
  readonly failures: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export async function closedLoop(target: Target, connections: number, seconds: number): Promise<LoadResult> {
  const pool = new Pool(target.origin, { connections, pipelining: 1 });
  const latencies: number[] = [];
  let failures = 0;
  const started = performance.now();
  const end = started + seconds * 1000;
  const worker = async () => {
    while (performance.now() < end) {
      const sent = performance.now();
      if (await send(pool, target)) latencies.push(performance.now() - sent);
      else failures += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  const elapsed = (performance.now() - started) / 1000;
  await pool.close();
  return summary(latencies, failures, elapsed);
}

export async function openLoop(target: Target, perSecond: number, seconds: number): Promise<LoadResult> {
  const pool = new Pool(target.origin, { connections: 256, pipelining: 1 });
  const latencies: number[] = [];
  let failures = 0;
  const running: Promise<void>[] = [];
  const started = performance.now();
  const total = perSecond * seconds;
  for (let i = 0; i < total; i += 1) {
    const due = started + (i * 1000) / perSecond;
    const wait = due - performance.now();
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
    // A late start is the server's fault, an early one (a timer is good to a millisecond) is ours.
    const from = Math.min(due, performance.now());
    running.push(
      send(pool, target).then((ok) => {
        if (ok) latencies.push(performance.now() - from);
        else failures += 1;
      }),
    );
  }
  await Promise.all(running);
  const elapsed = (performance.now() - started) / 1000;
  await pool.close();
  return summary(latencies, failures, elapsed);
}

/** Milliseconds to the first byte of the body, one request after the other. */
export async function firstBytes(target: Target, count: number): Promise<number> {
  const pool = new Pool(target.origin, { connections: 1, pipelining: 1 });
  const times: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const sent = performance.now();
    const { body } = await pool.request({ ...requestOf(target), method: "POST" });
    let first: number | undefined;
    for await (const _chunk of body) first ??= performance.now() - sent;
    times.push(first ?? Number.NaN);
  }
  await pool.close();
  return quantile(times, 0.5);
}

async function send(pool: Pool, target: Target): Promise<boolean> {
  const { statusCode, body } = await pool.request({
    ...requestOf(target),
    method: target.body === undefined ? "GET" : "POST",
  });
  await body.dump({ limit: 1_000_000 });
  return statusCode === 200;
}

function requestOf({ path, headers, body }: Target) {
  return { path, headers: { ...headers }, ...(body === undefined ? {} : { body }) };
}

function summary(latencies: number[], failures: number, seconds: number): LoadResult {
  return {
    requests: latencies.length,
    failures,
    perSecond: latencies.length / seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
  };
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}
