// SpreadTransport owns the choice among several processes of a module: unary calls for one account reach the same process, by rendezvous
// hashing over the addresses of its host. The choice is no promise, because any process answers any call. A host with one address is
// called by its name.
import { hash, randomUUID } from "node:crypto";
import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { fromConnectError, ServiceError } from "@gr/proto";
import type { Clock } from "./process/clock.ts";
import { pause } from "./process/pause.ts";
import { calledAddress, type RoutedTransport } from "./rpc/service-client.ts";

/** Age of a list of addresses after which the next call asks for another one. */
const FRESH_MS = 5_000;
/** Time for which an address that did not answer is the last choice. Afterwards one call tries it. */
const AVOIDED_MS = 2_000;
/** Longest wait of calls for the first addresses of a host. The calls then use its name. */
const RESOLVED_WITHIN_MS = 2_000;
const MOST_TRIES = 3;
/** Errors of connecting, before any byte of a request. */
const UNREACHED: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH"]);
/** Message of the library or of Node, which have no code for it. */
const REFUSED_STREAM = /^(http\/2 s|S)tream closed with error code (NGHTTP2_)?REFUSED_STREAM\b/;
const SILENT: ReadonlySet<Code> = new Set([Code.Unavailable, Code.DeadlineExceeded]);

/** Returns true for a request that a stopping server refused before it was read. */
export const isRefusedStream = (error: unknown) =>
  error instanceof ConnectError && REFUSED_STREAM.test(error.rawMessage);

export interface SpreadOptions {
  /** Base URL with the name of the host. */
  readonly url: string;
  readonly clock: Clock;
  /** Creates the transport to one base URL. */
  readonly connect: (url: string) => Transport;
  /** Base URLs of the processes behind a URL; fewer than two = the URL itself. */
  readonly resolve?: (url: string) => Promise<readonly string[]>;
}

export class SpreadTransport implements RoutedTransport {
  readonly #options: SpreadOptions;
  readonly #resolve: (url: string) => Promise<readonly string[]>;
  readonly #byName: Transport;
  /** Key of calls without an account. */
  readonly #own = randomUUID();
  readonly #transports = new Map<string, Transport>();
  readonly #avoidedUntil = new Map<string, number>();
  #addresses: readonly string[] = [];
  #askedAt = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;
  #hasAnswer = false;

  constructor(options: SpreadOptions) {
    this.#options = options;
    this.#resolve = options.resolve ?? resolveHost;
    this.#byName = options.connect(options.url);
  }

  addressOf(key: string): string | Promise<string> {
    const asking = this.#refresh();
    const chosen = () => this.#ranked(key)[0] ?? "";
    return this.#hasAnswer ? chosen() : this.#firstAnswer(asking).then(chosen);
  }

  unary: Transport["unary"] = async (method, signal, timeoutMs, header, input, context) => {
    const { clock } = this.#options;
    const begunAt = clock.now();
    const asking = this.#refresh();
    if (!this.#hasAnswer) await this.#firstAnswer(asking);
    // One deadline is for the name server and all tries.
    const call = (transport: Transport) => {
      const leftMs = timeoutMs && Math.max(timeoutMs - (clock.now() - begunAt), 1);
      return transport.unary(method, signal, leftMs, header, input, context);
    };
    const [first, ...others] = this.#choices(context?.get(calledAddress), input).slice(0, MOST_TRIES);
    if (first === undefined) return call(this.#byName);
    for (let address = first; ; ) {
      try {
        return await this.#tried(address, call);
      } catch (error) {
        const next = wasNeverRead(error) ? others.shift() : undefined;
        if (next === undefined) throw error;
        address = next;
      }
    }
  };

  /** Without an answer, or with an unknown error of the one call that tries a silent address, the address is the last choice. */
  async #tried<Answer>(address: string, call: (transport: Transport) => Promise<Answer>): Promise<Answer> {
    const isTrial = this.#avoidedUntil.has(address);
    if (isTrial) this.#avoidedUntil.set(address, Number.POSITIVE_INFINITY);
    try {
      const answer = await call(this.#at(address));
      this.#avoidedUntil.delete(address);
      return answer;
    } catch (error) {
      if (hasAnswered(error)) this.#avoidedUntil.delete(address);
      else if (isTrial || wasSilent(error)) this.#avoid(address);
      throw error;
    }
  }

  stream: Transport["stream"] = (...call) => this.#byName.stream(...call);

  /** Best first. Empty while the host has one address. */
  #choices(wanted: string | undefined, input: unknown): string[] {
    const ranked = this.#ranked(keyOf(input) ?? this.#own);
    const isUsable = wanted !== undefined && ranked.includes(wanted) && !this.#isAvoided(wanted);
    return isUsable ? [wanted, ...ranked.filter((address) => address !== wanted)] : ranked;
  }

  #ranked(key: string): string[] {
    if (this.#addresses.length < 2) return [];
    const scored = this.#addresses.map((address) => {
      const score = hash("sha1", `${address} ${key}`);
      return { address, order: `${this.#isAvoided(address) ? 1 : 0}${score}` };
    });
    return scored.sort((one, other) => (one.order < other.order ? -1 : 1)).map(({ address }) => address);
  }

  #isAvoided(address: string): boolean {
    return (this.#avoidedUntil.get(address) ?? 0) > this.#options.clock.now();
  }

  /** The process may have ended, so the next call asks for the addresses again. */
  #avoid(address: string): void {
    this.#avoidedUntil.set(address, this.#options.clock.now() + AVOIDED_MS);
    this.#askedAt = Number.NEGATIVE_INFINITY;
  }

  #at(address: string): Transport {
    const known = this.#transports.get(address);
    if (known !== undefined) return known;
    const transport = this.#options.connect(address);
    this.#transports.set(address, transport);
    return transport;
  }

  #refresh(): Promise<void> {
    const now = this.#options.clock.now();
    if (this.#asking === undefined && now - this.#askedAt >= FRESH_MS) {
      this.#askedAt = now;
      this.#asking = this.#ask();
    }
    return this.#asking ?? Promise.resolve();
  }

  /** A name server may be silent for longer than the deadline of a call. */
  async #firstAnswer(asking: Promise<void>): Promise<void> {
    const answered = new AbortController();
    await Promise.race([asking, pause(RESOLVED_WITHIN_MS, answered.signal)]);
    answered.abort();
    this.#hasAnswer = true;
  }

  async #ask(): Promise<void> {
    // A failed question changes nothing, and calls have errors of their own.
    const found = await this.#resolve(this.#options.url).catch(() => this.#addresses);
    this.#addresses = [...new Set(found)].sort();
    this.#hasAnswer = true;
    this.#asking = undefined;
    for (const known of [this.#transports, this.#avoidedUntil]) {
      for (const address of known.keys()) if (!this.#addresses.includes(address)) known.delete(address);
    }
  }
}

function keyOf(input: unknown): string | undefined {
  const { accountId, spender } = input as { accountId?: string; spender?: { accountId?: string } };
  return accountId ?? spender?.accountId;
}

/** An established connection can end with the codes of UNREACHED, too, after its process has read the request. */
function wasNeverRead(error: unknown): boolean {
  if (isRefusedStream(error)) return true;
  const { cause } = error as { cause?: { code?: unknown; syscall?: unknown } };
  return cause?.syscall === "connect" && UNREACHED.has(cause.code);
}

/** A process that reports itself unavailable, as without its database, is no use to its accounts. Any other reason is about the call. */
function hasAnswered(error: unknown): boolean {
  return !wasSilent(error) && fromConnectError(error) instanceof ServiceError;
}

function wasSilent(error: unknown): boolean {
  return wasNeverRead(error) || (error instanceof ConnectError && SILENT.has(error.code));
}

async function resolveHost(url: string): Promise<readonly string[]> {
  const { protocol, hostname } = new URL(url);
  if (protocol !== "http:" || hostname.startsWith("[") || isIP(hostname) !== 0) return [];
  return urlsAt(url, await lookup(hostname, { all: true }));
}

/** Returns the URL with each address of one family, because a process with two families has two addresses. */
export function urlsAt(url: string, found: readonly LookupAddress[]): string[] {
  const first = Math.min(...found.map(({ family }) => family));
  return found
    .filter(({ family }) => family === first)
    .map(({ address, family }) =>
      Object.assign(new URL(url), { hostname: family === 6 ? `[${address}]` : address }).toString(),
    );
}
