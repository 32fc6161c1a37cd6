// Who uses the router: clients that send requests, lose patience, and repeat them, with an Idempotency-Key or without;
// and who pays and manages keys: deposits, refunds, adjustments, caps, periods, switches, deletions.

import { sendTo } from "./billing-client.ts";
import type { BillingProcess } from "./billing-process.ts";
import { checkAnswer } from "./end-of-history.ts";
import type { Gateway } from "./gateway.ts";
import type { Claim, SpenderFields } from "./operation.ts";
import type { Answer, Request } from "./request.ts";
import type { Surroundings } from "./router.ts";
import { Process, type Steps } from "./task.ts";
import { CLAIM_LIFETIME_MS } from "./timing.ts";
import type { World } from "./world.ts";

export const ACTIVE_MS = 25_000;
const PATIENCE_MS = 40_000;
const MOST_TRIES = 4;
const COME_BACK_MS = 4_000;
const MOST_APART_MS = 10 * ACTIVE_MS;

interface Wish {
  readonly spender: number;
  readonly service: Request["service"];
  readonly credits: bigint;
  readonly claim: Claim | undefined;
}

export class Customers {
  readonly process: Process;
  readonly requests: Request[] = [];
  readonly #world: World;
  readonly #surroundings: Surroundings;
  readonly #gateways: readonly Gateway[];
  readonly #fields: SpenderFields[];
  readonly #owners: readonly number[];
  #nextMoney = 0;

  constructor(
    surroundings: Surroundings,
    gateways: readonly Gateway[],
    spenders: readonly { readonly account: number; readonly fields: SpenderFields }[],
  ) {
    this.#world = surroundings.world;
    this.#surroundings = surroundings;
    this.#gateways = gateways;
    this.#fields = spenders.map(({ fields }) => fields);
    this.#owners = spenders.map(({ account }) => account);
    this.process = new Process(
      this.#world,
      "customers",
      () => undefined,
      () => undefined,
    );
  }

  /** @param boundary when windows begin anew; some want to spend just then */
  begin(wishes: number, changes: number, boundary: number | undefined): void {
    const { random, now } = this.#world;
    for (let index = 0; index < wishes; index += 1) {
      const claim = random.chance(0.4) ? { key: index, content: 0 } : undefined;
      const credits = random.chance(0.06) ? 0n : BigInt(random.between(1, 20));
      const service = random.chance(0.6) ? "text" : "media";
      const wish: Wish = { spender: random.below(this.#owners.length), service, credits, claim };
      const crowd = boundary !== undefined && random.chance(0.3);
      const at = crowd ? boundary - now + random.between(-1_500, 2_000) : random.below(ACTIVE_MS);
      this.#world.after(Math.max(0, at), () => this.process.run(this.#ask(wish)));
    }
    this.process.run(this.#manage(changes));
  }

  /** A day later, some send a claimed request once more: shortly before its key is free, or shortly after. */
  comeBack(): void {
    const world = this.#world;
    const { random } = world;
    const claimed = [...this.#surroundings.ledger.audit.claims.values()];
    const first = Math.min(...claimed.map(({ placedAt }) => placedAt));
    if (claimed.length === 0) return;
    world.sleep(Math.max(0, first + CLAIM_LIFETIME_MS - COME_BACK_MS - world.now));
    for (const { place, placedAt } of claimed) {
      // Those of the day that begins here.
      if (placedAt > first + MOST_APART_MS || random.chance(0.3)) continue;
      world.count("came back a day later");
      const at = placedAt + CLAIM_LIFETIME_MS + random.between(-COME_BACK_MS, COME_BACK_MS);
      world.after(Math.max(0, at - world.now), () => this.process.run(this.#ask(place)));
    }
  }

  *#ask(wish: Wish): Steps {
    const world = this.#world;
    const { random } = world;
    for (let tries = 1; ; tries += 1) {
      const request = this.#requestOf(wish, tries);
      const hurry = random.chance(0.2);
      const call = world.call<Answer>(hurry ? random.between(1, 6_000) : PATIENCE_MS);
      const gateway = random.pick(this.#gateways);
      world.after(world.latency(), () => gateway.forward(request, call));
      yield;
      const answer = call.reply;
      if (answer === undefined) {
        request.left = true;
        world.count("clients that left");
      } else checkAnswer(this.#surroundings, request, answer);
      if (answer?.kind === "ok") world.count("answered, charged");
      const wantsMore = answer === undefined || answer.kind !== "ok" || wish.claim !== undefined;
      if (!wantsMore || tries === MOST_TRIES || !random.chance(0.6)) return;
      if (answer?.kind === "refused" && answer.code === "balance" && random.chance(0.5)) {
        yield* this.#pay(this.#owners[wish.spender] ?? 0, BigInt(random.between(5, 40)));
      }
      world.current().sleep(random.chance(0.7) ? random.between(1, 700) : random.between(1_000, 15_000));
      yield;
    }
  }

  #requestOf({ spender, service, credits, claim }: Wish, tries: number): Request {
    const world = this.#world;
    const other = claim !== undefined && tries > 1 && world.random.chance(0.08);
    const request: Request = {
      hold: this.requests.length,
      account: this.#owners[spender] ?? 0,
      spender,
      service,
      credits,
      claim: other ? { key: claim.key, content: tries } : claim,
      ephemeral: service === "media" && world.random.chance(0.2),
      left: false,
      answer: undefined,
      delivered: false,
      silenced: false,
      paused: false,
    };
    this.requests.push(request);
    world.count("requests sent");
    if (world.tracing) {
      const under = claim === undefined ? "" : ` under idempotency key ${claim.key}`;
      world.note(`client: ${service} request ${request.hold} for ${credits}, key ${spender}${under}`);
    }
    return request;
  }

  /** One after the other, each insisted upon: keys are changed under their row's lock. */
  *#manage(changes: number): Steps {
    const world = this.#world;
    const { random } = world;
    for (let change = 0; change < changes; change += 1) {
      world.current().sleep(random.below((2 * ACTIVE_MS) / (changes + 1)));
      yield;
      if (random.chance(0.4)) yield* this.#moveMoney();
      else yield* this.#changeKey(random.below(this.#fields.length));
    }
  }

  *#moveMoney(): Steps {
    const world = this.#world;
    const { random } = world;
    const account = random.pick(this.#owners);
    const dice = random.next();
    if (dice < 0.6) yield* this.#pay(account, BigInt(random.between(5, 40)));
    else if (dice < 0.8) {
      world.count("refunds");
      yield* this.#put(account, -BigInt(random.between(1, 20)));
    } else {
      world.count("adjustments");
      yield* this.#put(account, BigInt(random.between(-10, 10)));
    }
  }

  *#pay(account: number, credits: bigint): Steps {
    this.#world.count("deposits");
    yield* this.#put(account, credits);
  }

  *#put(account: number, credits: bigint): Steps {
    const id = this.#nextMoney;
    this.#nextMoney += 1;
    const { ledger } = this.#surroundings;
    const commit = () => ledger.putMoney(id, account, credits);
    yield* this.#insist(account, commit, `${credits} for account ${account}`);
    // Payment services tell the same thing again.
    if (this.#world.random.chance(0.2)) yield* this.#insist(account, commit, "the same again");
  }

  *#changeKey(spender: number): Steps {
    const before = this.#fields[spender];
    if (before === undefined) return;
    const fields = this.#changed(before);
    this.#fields[spender] = fields;
    const { ledger } = this.#surroundings;
    const { cap, period, active, expiresAt } = fields;
    const says = `key ${spender}: cap ${cap}, ${period}, ${active ? "on" : "off"}, expires ${expiresAt}`;
    yield* this.#insist(this.#owners[spender], () => ledger.putSpender(spender, fields), says);
  }

  #changed(before: SpenderFields): SpenderFields {
    const world = this.#world;
    const { random } = world;
    const dice = random.next();
    if (dice < 0.4) {
      world.count("caps changed");
      return { ...before, cap: random.chance(0.2) ? undefined : BigInt(random.between(0, 50)) };
    }
    if (dice < 0.55) {
      world.count("periods changed");
      return { ...before, period: random.pick(["lifetime", "day", "week", "month"] as const) };
    }
    if (dice < 0.85) {
      world.count("keys disabled or deleted");
      return { ...before, active: !before.active };
    }
    return { ...before, expiresAt: random.chance(0.4) ? undefined : world.now + random.between(0, 10_000) };
  }

  *#insist(account: number | undefined, commit: () => void, says: string): Steps {
    const world = this.#world;
    for (;;) {
      const call = sendTo<true>(world, this.#surroundings.billing, (billing: BillingProcess, rpc) =>
        billing.change(account, () => done(commit), rpc),
      );
      yield;
      if (world.tracing) world.note(`operator: ${says}${call.reply === true ? "" : ": no answer"}`);
      if (call.reply === true) return;
      world.current().sleep(world.random.between(50, 1_000));
      yield;
    }
  }
}

function done(commit: () => void): true {
  commit();
  return true;
}
