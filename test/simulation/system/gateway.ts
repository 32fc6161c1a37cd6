// A gateway: believes a key for some seconds, by its real cache and a clock that may be wrong, and passes requests on. What it
// believes must never decide about money.

import { create } from "@bufbuild/protobuf";
import { VerifiedKeys } from "@gr/gateway/simulated";
import { ServiceError } from "@gr/proto";
import { KeyKind, KeySchema, type VerifyKeyResponse, VerifyKeyResponseSchema } from "@gr/proto/keys";
import { idOf, secretOf } from "../ledger/ids.ts";
import { runStatement } from "../ledger/postgres.ts";
import type { Caller } from "../world/network.ts";
import { silence } from "../world/network.ts";
import { type Life, Process } from "../world/process.ts";
import type { World } from "../world/world.ts";
import type { Answer, Request } from "./request.ts";
import type { Router } from "./router.ts";
import type { Surroundings } from "./surroundings.ts";

/** More than a history has. */
const MOST_KEYS = 20;

export class Gateway {
  readonly process: Process;
  readonly #world: World;
  readonly #surroundings: Surroundings;
  readonly #routers: readonly Router[];
  #keys: VerifiedKeys | undefined;

  constructor(surroundings: Surroundings, routers: readonly Router[], name: string) {
    const { world } = surroundings;
    this.#world = world;
    this.#surroundings = surroundings;
    this.#routers = routers;
    const begin = (life: Life) => {
      const verifyKey = ({ secret }: { secret?: string }) => this.#verify(life, secret ?? "");
      this.#keys = new VerifiedKeys({ verifyKey }, life, MOST_KEYS);
    };
    this.process = new Process(world, name, begin, () => world.count("crashes of a gateway"));
  }

  /** @param caller fails when the connection breaks */
  forward(request: Request, caller: Caller<Answer>): void {
    const { life } = this.process;
    if (life === undefined) {
      caller.fail(silence());
      return;
    }
    life.reach(() => life.run(() => this.#forward(life, request, caller)));
  }

  async #forward(life: Life, request: Request, caller: Caller<Answer>): Promise<void> {
    const world = this.#world;
    try {
      await this.#keys?.ofSpender(secretOf(request.spender), "");
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.reason === "service_unavailable") {
        caller.settle({ kind: "failed" });
        return;
      }
      world.count("refused by the gateway");
      const expired = error.reason === "api_key_expired";
      caller.settle({ kind: "refused", code: expired ? "expired" : "disabled or deleted" });
      return;
    }
    if (!life.acts()) return;
    const router = world.random.pick(this.#routers);
    const through: Caller<Answer> = {
      over: false,
      settle: (answer) => (life.alive ? caller.settle(answer) : caller.fail(silence())),
      fail: (error) => caller.fail(error),
    };
    const madeAt = life.now();
    world.after(world.latency(), () => {
      if (router.process.life === undefined) caller.settle({ kind: "failed" });
      else router.take(request, madeAt, through);
    });
  }

  /** The keys service. */
  async #verify(life: Life, secret: string): Promise<VerifyKeyResponse> {
    const { ledger, world } = this.#surroundings;
    const spender = Number(secret.slice(-36, -6));
    const { account, fields } = await runStatement(life, () => ledger.audit.spender(spender)).catch(() => {
      throw silence();
    });
    const { active, expiresAt } = fields;
    if (!active) throw new ServiceError("invalid_api_key", "The API key is not valid.");
    if (expiresAt !== undefined && expiresAt <= world.now) {
      throw new ServiceError("api_key_expired", "The API key has expired.");
    }
    const key = create(KeySchema, {
      keyId: idOf(spender),
      accountId: idOf(account),
      kind: KeyKind.NORMAL,
      active,
      ...(expiresAt === undefined ? {} : { expiresAt: BigInt(expiresAt) }),
    });
    return create(VerifyKeyResponseSchema, { key });
  }
}
