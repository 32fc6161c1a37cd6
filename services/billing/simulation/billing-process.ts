// One process of the billing service: the spend mirror first, then one writer that commits whatever has gathered. What
// it has not committed dies with it; what it has committed stays, also when nobody hears of it.
import { checkMirrored } from "./invariants.ts";
import type { Ledger } from "./ledger.ts";
import type { Operation, Outcome, Place } from "./operation.ts";
import { readNumbers, type SpendMirror } from "./spend-mirror.ts";
import { type Call, type Caller, Process, type Steps } from "./task.ts";
import { MIRROR_FRESH_MS, SUSPECT_MS } from "./timing.ts";
import type { World } from "./world.ts";

interface WaitingCall {
  readonly operations: readonly Operation[];
  /** Answers the caller; undefined when the outcome is not known. */
  readonly answer: (outcomes: Outcome[] | undefined) => void;
  /** Whether the caller still waits: what has not begun by then is not done. */
  readonly wanted: () => boolean;
}

export class BillingProcess {
  readonly process: Process;
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #mirror: SpendMirror;
  /** Spenders that PostgreSQL has refused, and when their numbers were last read for it. */
  readonly #suspects = new Map<number, number>();
  #waiting: WaitingCall[] = [];
  #writing = false;

  constructor(world: World, name: string, ledger: Ledger, mirror: SpendMirror) {
    this.#world = world;
    this.#ledger = ledger;
    this.#mirror = mirror;
    const begin = () => {
      this.#waiting = [];
      this.#writing = false;
      this.#suspects.clear();
    };
    this.process = new Process(world, name, begin, () => world.count("crashes of billing"));
  }

  /** Post. */
  post(operations: readonly Operation[], caller: Caller<readonly Outcome[]>): void {
    this.process.run(this.#post(operations, caller));
  }

  *#post(operations: readonly Operation[], caller: Caller<readonly Outcome[]>): Steps {
    const refused = new Map<Operation, Outcome>();
    const hopeless = operations.filter((each) => this.#mayBeHopeless(each)) as Place[];
    if (hopeless.length > 0) {
      const asked = this.#mirror.run(() => hopeless.map((place) => this.#admit(place)));
      yield;
      hopeless.forEach((place, index) => {
        const answer = asked.reply?.[index];
        if (answer !== undefined) refused.set(place, answer);
      });
    }
    this.#decideEarly(operations);
    const rest = refused.size === 0 ? operations : operations.filter((each) => !refused.has(each));
    let posted: readonly Outcome[] = [];
    if (rest.length > 0) {
      const written = this.#write(rest, caller);
      yield;
      if (written.reply === undefined) {
        caller.answer(undefined);
        return;
      }
      posted = written.reply;
      yield* this.#learn(rest, posted);
    }
    const answers = refused.size === 0 ? posted : merge(operations, refused, posted);
    reply(this.#world, caller, answers);
  }

  #mayBeHopeless(operation: Operation): boolean {
    if (operation.kind !== "place" || operation.credits === 0n || operation.claim !== undefined) return false;
    return this.#counts || this.#ageOf(operation) < SUSPECT_MS;
  }

  get #counts(): boolean {
    const { flaw } = this.#world;
    return flaw === "mirror counts by increments" || flaw === "mirror admits alone";
  }

  #admit(place: Place): Outcome | undefined {
    const { flaw, now } = this.#world;
    let refusal = this.#mirror.admit(place, place.madeAt, this.process.clock);
    if (this.#counts) {
      const { cap } = this.#ledger.audit.spender(place.spender).fields;
      const fits = cap === undefined || this.#mirror.taken(place.spender) + place.credits <= cap;
      if (flaw === "mirror admits alone") place.admitted = fits;
      else if (!fits) refusal = { code: "cap" };
    }
    if (refusal === undefined) return undefined;
    this.#world.count("refused from the mirror");
    if (this.#world.tracing) {
      this.#world.note(`mirror: place ${place.hold} by key ${place.spender}: ${refusal.code}`);
    }
    checkMirrored(this.#ledger, this.#mirror, place, now);
    return refusal;
  }

  /** What a ledger would do that checks before it commits. */
  #decideEarly(operations: readonly Operation[]): void {
    if (this.#world.flaw !== "cap checked, then acted upon") return;
    const { audit, time } = this.#ledger;
    for (const each of operations)
      if (each.kind === "place") each.admitted = audit.judge(each, time) === "done";
  }

  *#learn(operations: readonly Operation[], posted: readonly Outcome[]): Steps {
    for (const [index, operation] of operations.entries()) {
      const code = posted[index]?.code;
      if (this.#counts && code === "done") yield* this.#count(operation);
      if (operation.kind !== "place" || operation.credits === 0n || operation.claim !== undefined) continue;
      if (code !== "cap" && code !== "balance") continue;
      if (this.#ageOf(operation) >= MIRROR_FRESH_MS) yield* this.#remember(operation);
    }
  }

  #ageOf({ spender }: Place): number {
    return this.#world.now - (this.#suspects.get(spender) ?? Number.NEGATIVE_INFINITY);
  }

  /** Before the answer, so that the next place of this spender finds it. */
  *#remember(place: Place): Steps {
    const world = this.#world;
    this.#suspects.set(place.spender, world.now);
    const begun = this.#mirror.run(() => this.#mirror.begin(place.account));
    yield;
    const epoch = begun.reply;
    if (epoch === undefined || world.postgresAwayUntil > world.now) return;
    world.current().sleep(1);
    yield;
    const numbers = readNumbers(this.#ledger, place);
    if (numbers === undefined) return;
    world.current().sleep(1);
    yield;
    this.#mirror.run(() => this.#mirror.settle(place, epoch, numbers));
    yield;
  }

  *#count(operation: Operation): Steps {
    const place = this.#ledger.audit.holds.get(operation.hold)?.place;
    if (place === undefined) return;
    const charge = operation.kind === "capture" ? operation.credits : 0n;
    const more = operation.kind === "place" ? place.credits : charge - place.credits;
    this.#mirror.run(() => this.#mirror.add(place.spender, more));
    yield;
  }

  /** One call of the writer; to be followed by a `yield`. */
  #write(operations: readonly Operation[], caller: Caller<unknown>): Call<Outcome[]> {
    const call = this.#world.promise<Outcome[]>();
    this.#waiting.push({
      operations,
      answer: (outcomes) => call.answer(outcomes),
      // The news that a caller has given up may be late itself.
      wanted: () => !caller.over || this.#world.random.chance(0.5),
    });
    if (!this.#writing) {
      this.#writing = true;
      this.process.run(this.#writeAll());
    }
    return call;
  }

  *#writeAll(): Steps {
    const world = this.#world;
    while (this.#waiting.length > 0) {
      const calls = this.#waiting;
      this.#waiting = [];
      world.current().sleep(world.random.between(1, 3));
      yield;
      const away = world.postgresAwayUntil > world.now;
      const wanted = away ? [] : calls.filter((call) => call.wanted());
      const outcomes = this.#ledger.commit(wanted.flatMap(({ operations }) => operations));
      // Committed; from here on only the news of it can be lost.
      world.current().sleep(1);
      yield;
      const unheard = world.lost();
      if (unheard) world.count("commits whose reply was lost");
      let from = 0;
      for (const call of calls) {
        if (unheard || !wanted.includes(call)) {
          call.answer(undefined);
          continue;
        }
        call.answer(outcomes.slice(from, from + call.operations.length));
        from += call.operations.length;
      }
    }
    this.#writing = false;
  }

  /**
   * Any other call that reads or writes: carries it out, makes the mirror forget the account, then answers.
   * @param account undefined when nothing can have made room
   */
  change<Reply>(account: number | undefined, commit: () => Reply, caller: Caller<Reply>): void {
    this.process.run(this.#change(account, commit, caller));
  }

  *#change<Reply>(account: number | undefined, commit: () => Reply, caller: Caller<Reply>): Steps {
    const world = this.#world;
    world.current().sleep(world.random.between(1, 3));
    yield;
    const away = world.postgresAwayUntil > world.now;
    if (away || caller.over) {
      caller.answer(undefined);
      return;
    }
    const result = commit();
    world.current().sleep(1);
    yield;
    if (account !== undefined) {
      this.#mirror.run(() => this.#mirror.forget(account));
      yield;
    }
    reply(world, caller, result);
  }
}

function merge(
  operations: readonly Operation[],
  refused: ReadonlyMap<Operation, Outcome>,
  posted: readonly Outcome[],
): Outcome[] {
  let next = 0;
  return operations.flatMap((operation) => {
    const refusal = refused.get(operation);
    if (refusal !== undefined) return refusal;
    next += 1;
    return posted[next - 1] ?? [];
  });
}

function reply<Reply>(world: World, caller: Caller<Reply>, result: Reply): void {
  if (world.lost()) return;
  world.after(world.latency(), () => caller.answer(result));
}
