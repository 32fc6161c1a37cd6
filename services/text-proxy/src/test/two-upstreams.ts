// TwoUpstreams are a text proxy and two scripted upstreams, for tests about routes and the accounts that ask for them.
import { afterAll, afterEach, beforeAll } from "@jest/globals";
import { CALLER_HEADER } from "./front-door.ts";
import { type Rig, startRig } from "./rig.ts";
import { ScriptedUpstream } from "./scripted-upstream.ts";

export const ACCOUNTS = ["a", "b", "c"].map((letter) => `0190c0de-0000-7000-8000-00000000000${letter}`);
const KEY = "0190c0de-0000-7000-8000-0000000000f";
const NAMES = ["first", "second"];

export class TwoUpstreams {
  readonly first = new ScriptedUpstream();
  readonly second = new ScriptedUpstream();
  readonly #settings: object;
  readonly #env: Record<string, string>;
  #rig: Rig | undefined;

  /** @param settings of each upstream, besides its name and address */
  constructor(settings: object, env: Record<string, string> = {}) {
    this.#settings = settings;
    this.#env = env;
    beforeAll(async () => {
      await Promise.all([this.first.start(), this.second.start()]);
    });
    afterAll(async () => {
      await Promise.all([this.first.stop(), this.second.stop()]);
    });
    afterEach(() => this.#rig?.stop());
  }

  get rig(): Rig {
    if (this.#rig === undefined) throw new Error("start a text proxy first");
    return this.#rig;
  }

  /** Starts a text proxy with upstreams at these addresses, which stops after the test. */
  async start(...urls: readonly string[]): Promise<void> {
    const upstreams = urls.map((base_url, at) => ({ name: NAMES[at], base_url, ...this.#settings }));
    const keys = Object.fromEntries(upstreams.map(({ name }) => [name, "sk-upstream-key-0123456789"]));
    this.#rig = await startRig("", {
      TEXT_UPSTREAMS: JSON.stringify(upstreams),
      TEXT_UPSTREAM_KEYS: JSON.stringify(keys),
      ...this.#env,
    });
  }

  /** Sends a chat of an account, and reads the answer to its end. */
  async ask(account: string | undefined, body: object): Promise<{ status: number; text: string }> {
    const headers = { [CALLER_HEADER]: `${account}/${KEY}${account?.at(-1)}` };
    const response = await this.rig.post("chat/completions", body, { headers });
    return { status: response.status, text: await response.text() };
  }
}
