// A gateway: believes a key for some seconds, as gateway/src/verified-keys.ts does, by a clock that may be wrong, and
// passes requests on. What it believes must never decide about money.
import type { SpenderFields } from "./operation.ts";
import type { Answer, Request } from "./request.ts";
import type { Router, Surroundings } from "./router.ts";
import { type Caller, Process, type Steps } from "./task.ts";
import { KEY_FRESH_MS } from "./timing.ts";
import type { World } from "./world.ts";

interface VerifiedKey {
  readonly fields: SpenderFields;
  readonly staleAt: number;
}

export class Gateway {
  readonly process: Process;
  readonly #world: World;
  readonly #surroundings: Surroundings;
  readonly #routers: readonly Router[];
  readonly #recent = new Map<number, VerifiedKey>();

  constructor(surroundings: Surroundings, routers: readonly Router[], name: string) {
    const { world } = surroundings;
    this.#world = world;
    this.#surroundings = surroundings;
    this.#routers = routers;
    const begin = () => this.#recent.clear();
    this.process = new Process(world, name, begin, () => world.count("crashes of a gateway"));
  }

  /** @param caller answered with undefined when the connection breaks */
  forward(request: Request, caller: Caller<Answer>): void {
    if (!this.process.up) {
      caller.answer(undefined);
      return;
    }
    this.process.run(this.#forward(request, caller));
  }

  *#forward(request: Request, caller: Caller<Answer>): Steps {
    const world = this.#world;
    let key = this.#recent.get(request.spender);
    if (key === undefined || key.staleAt <= this.process.clock) {
      const { rows, ledger } = this.#surroundings;
      const asked = rows.run(() => ledger.audit.spender(request.spender).fields);
      yield;
      if (asked.reply === undefined) {
        caller.answer({ kind: "failed" });
        return;
      }
      key = { fields: asked.reply, staleAt: this.process.clock + KEY_FRESH_MS };
      if (key.fields.active) this.#recent.set(request.spender, key);
    }
    const { active, expiresAt } = key.fields;
    if (!active || (expiresAt !== undefined && expiresAt <= this.process.clock)) {
      world.count("refused by the gateway");
      caller.answer({ kind: "refused", code: active ? "expired" : "disabled or deleted" });
      return;
    }
    const router = world.random.pick(this.#routers);
    const { process } = this;
    const { life } = process;
    const through: Caller<Answer> = {
      over: false,
      answer: (answer) => caller.answer(process.life === life ? answer : undefined),
    };
    world.after(world.latency(), () => {
      if (router.process.up) router.serve(request, through);
      else caller.answer({ kind: "failed" });
    });
  }
}
