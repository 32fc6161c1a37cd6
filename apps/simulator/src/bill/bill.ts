// Bill is the provider's own bill: the true cost of each request, separate from the router's own accounts.
// Invariant: an item is in the file, by one write, before the last byte of its answer is sent; nothing is
// changed or removed afterwards. Survives a killed process (the file is not synced against power loss).
import {
  closeSync,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  writeSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { PicoUsd } from "./prices.ts";

export const STATED_UPSTREAMS = ["openrouter", "openai"] as const;
/** Upstreams with simulated statements. */
export type StatedUpstream = (typeof STATED_UPSTREAMS)[number];

export interface BillItem {
  /** The client's `x-request-id`, else the simulator's own id. Several items may share it: retries. */
  readonly requestId: string;
  /** The simulator's own id of the generation. */
  readonly generationId: string;
  readonly model: string;
  /** Upstream that keeps a statement with this item; undefined for the others. */
  readonly upstream?: StatedUpstream | undefined;
  readonly picoUsd: PicoUsd;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Output tokens that are reasoning. */
  readonly reasoningTokens?: number;
  readonly finishReason: string | null;
  readonly streamed: boolean;
  /** The client disconnected, or the connection broke, before the end. */
  readonly cancelled: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

const lineSchema = z.object({
  request_id: z.string(),
  generation_id: z.string(),
  model: z.string(),
  upstream: z.enum(STATED_UPSTREAMS).optional(),
  pico_usd: z.string().regex(/^\d+$/),
  input_tokens: z.int(),
  output_tokens: z.int(),
  // Absent in bills of earlier versions.
  reasoning_tokens: z.int().default(0),
  finish_reason: z.nullable(z.string()),
  streamed: z.boolean(),
  cancelled: z.boolean(),
  created_at: z.int(),
});

const FILE_NAME = "bill.jsonl";
/** The requests are private to the owner. */
const FILE_MODE = 0o600;
const NEWLINE = 10;

export class Bill {
  readonly #items: BillItem[] = [];
  readonly #byId = new Map<string, BillItem | BillItem[]>();
  readonly #file: number | undefined;
  #closed = false;
  #size = 0;
  #total: PicoUsd = 0n;

  private constructor(file: number | undefined) {
    this.#file = file;
  }

  /** Opens `dataDir/bill.jsonl`, or a bill in memory. Throws on a damaged file rather than forgetting a cost. */
  static async open(dataDir: string | undefined): Promise<Bill> {
    if (dataDir === undefined) return new Bill(undefined);
    mkdirSync(dataDir, { recursive: true });
    const path = join(dataDir, FILE_NAME);
    const file = openSync(path, "a+", FILE_MODE);
    // A file from an earlier version may be readable by others.
    fchmodSync(file, FILE_MODE);
    const bill = new Bill(file);
    try {
      bill.#size = dropTornLine(file);
      await bill.#load(path);
    } catch (error) {
      closeSync(file);
      throw error;
    }
    return bill;
  }

  get total(): PicoUsd {
    return this.#total;
  }

  get items(): readonly BillItem[] {
    return this.#items;
  }

  /** Books one item. Throws when it cannot be written; then it is not booked and must not be answered. */
  record(item: BillItem): void {
    if (this.#closed) throw new Error("The bill is closed");
    if (this.#file !== undefined) this.#append(this.#file, `${toLine(item)}\n`);
    this.#keep(item);
  }

  /** All items with this request id or generation id, oldest first. */
  find(id: string): readonly BillItem[] {
    const found = this.#byId.get(id);
    if (found === undefined) return [];
    return Array.isArray(found) ? found : [found];
  }

  close(): void {
    if (this.#file !== undefined && !this.#closed) closeSync(this.#file);
    this.#closed = true;
  }

  #append(file: number, line: string): void {
    const length = Buffer.byteLength(line);
    let written = 0;
    try {
      written = writeSync(file, line);
    } finally {
      if (written === length) this.#size += length;
      else ftruncateSync(file, this.#size);
    }
    if (written !== length) throw new Error(`The bill's disk is full: ${written} of ${length} bytes written`);
  }

  #keep(item: BillItem): void {
    this.#items.push(item);
    this.#total += item.picoUsd;
    this.#index(item.requestId, item);
    if (item.generationId !== item.requestId) this.#index(item.generationId, item);
  }

  #index(id: string, item: BillItem): void {
    const known = this.#byId.get(id);
    if (known === undefined) this.#byId.set(id, item);
    else if (Array.isArray(known)) known.push(item);
    else this.#byId.set(id, [known, item]);
  }

  async #load(path: string): Promise<void> {
    const handle = await open(path);
    let number = 0;
    for await (const line of handle.readLines()) {
      number++;
      this.#keep(fromLine(line, `${path}, line ${number}`));
    }
  }
}

function toLine(item: BillItem): string {
  return (
    `{"request_id":${JSON.stringify(item.requestId)},"generation_id":"${item.generationId}","model":"${item.model}",` +
    `${item.upstream === undefined ? "" : `"upstream":"${item.upstream}",`}"pico_usd":"${item.picoUsd}","input_tokens":${item.inputTokens},"output_tokens":${item.outputTokens},"reasoning_tokens":${item.reasoningTokens ?? 0},` +
    `"finish_reason":${item.finishReason === null ? "null" : `"${item.finishReason}"`},"streamed":${item.streamed},` +
    `"cancelled":${item.cancelled},"created_at":${item.createdAt}}`
  );
}

function fromLine(line: string, place: string): BillItem {
  let value: z.infer<typeof lineSchema>;
  try {
    value = lineSchema.parse(JSON.parse(line));
  } catch (error) {
    throw new Error(`The simulator's bill is damaged at ${place}`, { cause: error });
  }
  return {
    requestId: value.request_id,
    generationId: value.generation_id,
    model: value.model,
    upstream: value.upstream,
    picoUsd: BigInt(value.pico_usd),
    inputTokens: value.input_tokens,
    outputTokens: value.output_tokens,
    reasoningTokens: value.reasoning_tokens,
    finishReason: value.finish_reason,
    streamed: value.streamed,
    cancelled: value.cancelled,
    createdAt: value.created_at,
  };
}

/**
 * Removes a last line without a newline: its write was interrupted, so its answer never ended.
 * Returns the remaining size.
 */
function dropTornLine(file: number): number {
  const { size } = fstatSync(file);
  const block = Buffer.alloc(65_536);
  let end = size;
  while (end > 0) {
    const start = Math.max(0, end - block.length);
    const read = readSync(file, block, 0, end - start, start);
    const newline = block.subarray(0, read).lastIndexOf(NEWLINE);
    if (newline >= 0) {
      end = start + newline + 1;
      break;
    }
    end = start;
  }
  if (end < size) ftruncateSync(file, end);
  return end;
}
