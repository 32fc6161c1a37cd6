// The contents of a fuzzed router: accounts and keys created beforehand, and keys, generations and files of earlier
// requests. Requests choose from both. Deleted ones are recorded, so that a deleted key that still works is noticed.
import { type Credits, creditsOf } from "@gr/money";
import { mintKey, mintManagementKey, openAccount } from "../chaos/customers.ts";
import type { Router } from "../e2e/topology.ts";
import type { Caller } from "./fuzz-case.ts";

/** Recorded values of a kind, at most. */
const MOST_KNOWN = 500;
const PLENTY = creditsOf("1000000");

interface MintedKey {
  readonly id: string;
  readonly secret: string;
}

interface Job {
  readonly id: string;
  readonly status: string;
}

interface LearntFrom {
  readonly status: number;
  readonly text: string;
  readonly requestId: string;
}

export class World {
  readonly accountIds: string[] = [];
  readonly #secrets = new Map<Caller, string>();
  readonly #minted: MintedKey[] = [];
  /** By secret: the time at which the answer to its deletion had arrived. */
  readonly #deletedAt = new Map<string, number>();
  readonly #generations: string[] = [];
  /** Requests with a saved prompt and answer. */
  readonly #texts: string[] = [];
  readonly #budgets: string[] = [];
  readonly #files: string[] = [];
  readonly #videos: string[] = [];
  /** Most jobs fail on purpose; only these have content. */
  readonly #finishedVideos: string[] = [];
  readonly #deliveries: string[] = [];
  readonly #strangeKeyIds: string[] = [];

  static async open({ dataDir }: Pick<Router, "dataDir">): Promise<World> {
    const world = new World();
    const account = async (credits: Credits) => {
      const accountId = await openAccount(dataDir, credits);
      world.accountIds.push(accountId);
      return accountId;
    };
    const [rich, broke, strange] = [await account(PLENTY), await account(1n), await account(PLENTY)];
    const secrets = world.#secrets;
    secrets.set("rich", (await mintKey(dataDir, rich, { savesTexts: true })).secret);
    secrets.set("capped", (await mintKey(dataDir, rich, { cap: creditsOf("0.02") })).secret);
    secrets.set("poor", (await mintKey(dataDir, rich, { cap: 0n })).secret);
    secrets.set("broke", (await mintKey(dataDir, broke)).secret);
    const stranger = await mintKey(dataDir, strange);
    secrets.set("stranger", stranger.secret);
    world.#strangeKeyIds.push(stranger.keyId);
    secrets.set("manager", await mintManagementKey(dataDir, rich));
    secrets.set("strangeManager", await mintManagementKey(dataDir, strange));
    secrets.set("garbage", `${secrets.get("rich")?.slice(0, -1)}_`);
    return world;
  }

  /** Undefined if the caller has none. */
  authorization(caller: Caller, pick: number): string | undefined {
    if (caller === "nobody") return undefined;
    if (caller === "malformed") return ["", "Bearer", "Basic YTpi", "Bearer a b", "bearer \u00ff"][pick % 5];
    return `Bearer ${this.#secretOf(caller, pick)}`;
  }

  #secretOf(caller: Caller, pick: number): string | undefined {
    const own = this.#secrets.get(caller) ?? this.#secrets.get("garbage");
    if (caller === "minted") return this.#minted.at(pick % Math.max(1, this.#minted.length))?.secret ?? own;
    if (caller === "deleted")
      return [...this.#deletedAt.keys()].at(pick % Math.max(1, this.#deletedAt.size)) ?? own;
    return own;
  }

  /** Secrets that no answer may show to a client without them: keys of others. */
  get secrets(): readonly string[] {
    return [...this.#secrets.values()];
  }

  /** Whether the key was deleted before that time. */
  wasDeleted(authorization: string | undefined, startedAt: number): boolean {
    const at = this.#deletedAt.get(authorization?.replace(/^Bearer /, "") ?? "");
    return at !== undefined && at < startedAt;
  }

  /** Returns the path with its values filled in. */
  fill(path: string, pick: number): string {
    const some = (known: readonly string[], otherwise: string) =>
      known.at(pick % Math.max(1, known.length)) ?? otherwise;
    const strange = [
      "nope",
      "%00",
      "..",
      "00000000-0000-0000-0000-000000000000",
      "%F0%9F%98%80",
      "a".repeat(400),
    ];
    const own = this.#ownOf(path);
    const known = pick % 8 === 0 ? strange : pick % 8 === 1 ? this.#strangeKeyIds : own;
    return path.replaceAll(/\{\w+\}/g, some(known, "nope"));
  }

  /** Values that exist, for a path. */
  #ownOf(path: string): readonly string[] {
    if (path.startsWith("/media")) return this.#files;
    if (path.endsWith("/text")) return this.#texts;
    if (path.startsWith("/v1/generations")) return this.#generations;
    if (path.startsWith("/v1/budgets")) return this.#budgets;
    if (path.endsWith("/content") && this.#finishedVideos.length > 0) return this.#finishedVideos;
    if (path.startsWith("/v1/compat/videos")) return this.#videos;
    if (path.includes("/webhooks/receivers")) return ["account", ...this.#minted.map(({ id }) => id)];
    if (path.includes("/webhooks/deliveries")) return this.#deliveries;
    if (path.includes("models")) return ["sandbox/chat", "sandbox%2Fimage", "openai/gpt-image-1-mini"];
    return this.#minted.map(({ id }) => id);
  }

  /** Records the keys, generations and files in an answer. */
  learn(name: string, sent: { path: string; authorization: string | undefined }, answer: LearntFrom): void {
    const { status, text, requestId } = answer;
    if (status < 200 || status > 299) return;
    const ofManager = sent.authorization === `Bearer ${this.#secrets.get("manager")}`;
    if (name === "post /v1/budgets" && ofManager) keep(this.#budgets, JSON.parse(text).id);
    if (name === "post /v1/api-keys" && ofManager) {
      const { id, key } = JSON.parse(text) as { id: string; key: string };
      keep(this.#minted, { id, secret: key });
    }
    if (name === "delete /v1/api-keys/{id}") this.#forget(sent.path.split("/").at(-1) ?? "");
    for (const [, file = ""] of text.matchAll(/\/media\/([^"\\]+)/g)) keep(this.#files, file);
    const ofRich = sent.authorization === `Bearer ${this.#secrets.get("rich")}`;
    if (ofRich && /^post \/v1\/compat\/(images|videos)/.test(name)) keep(this.#generations, requestId);
    if (ofRich && /^post \/v1\/compat\/(chat|responses)/.test(name)) keep(this.#texts, requestId);
    if (ofRich && name === "post /v1/compat/videos") keep(this.#videos, requestId);
    if (ofRich && /^get \/v1\/compat\/videos(\/\{id\})?$/.test(name)) {
      const answer = JSON.parse(text) as { data?: readonly Job[] } & Job;
      const finished = (answer.data ?? [answer]).filter(({ status: state }) => state === "completed");
      for (const { id } of finished) keep(this.#finishedVideos, id);
    }
    if (ofRich && name === "get /v1/webhooks/deliveries") {
      const { data } = JSON.parse(text) as { data: readonly { id: string }[] };
      for (const { id } of data) keep(this.#deliveries, id);
    }
  }

  #forget(id: string): void {
    const at = this.#minted.findIndex((key) => key.id === id);
    const [gone] = at === -1 ? [] : this.#minted.splice(at, 1);
    if (gone === undefined) return;
    this.#deletedAt.set(gone.secret, performance.now());
    const [oldest] = this.#deletedAt.keys();
    if (this.#deletedAt.size > MOST_KNOWN && oldest !== undefined) this.#deletedAt.delete(oldest);
  }
}

function keep<T>(list: T[], item: T): void {
  list.push(item);
  if (list.length > MOST_KNOWN) list.shift();
}
