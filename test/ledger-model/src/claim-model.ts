// What claims and kept answers should do, written without a thought for how: who has which key, and what was kept.

/** Both may be anything that is equal to itself. */
export interface ModelClaim {
  readonly key: number | string;
  readonly content: number | string;
}

export interface ModelAnswer {
  readonly credits: bigint;
  readonly cost: bigint;
}

interface Owner {
  readonly account: number;
  readonly hold: number;
  readonly content: ModelClaim["content"];
  /** Unix milliseconds. */
  readonly since: number;
  kept: ModelAnswer | undefined;
}

type HoldStates = (hold: number) => "open" | "captured" | "released" | undefined;

const DAY = 86_400_000;

export class ClaimModel {
  readonly #owners = new Map<string, Owner>();
  readonly #stateOf: HoldStates;

  constructor(stateOf: HoldStates) {
    this.#stateOf = stateOf;
  }

  /** Who stands in the way of whoever claims this key now. */
  owner(account: number, { key }: ModelClaim, now: number): Owner | undefined {
    const owner = this.#owners.get(`${account} ${key}`);
    if (owner === undefined) return undefined;
    const state = this.#stateOf(owner.hold);
    if (state === "open") return owner;
    const wasFree = state === "released" && owner.kept === undefined;
    return wasFree || owner.since <= now - DAY ? undefined : owner;
  }

  take(account: number, { key, content }: ModelClaim, hold: number, now: number): void {
    this.#owners.set(`${account} ${key}`, { account, hold, content, since: now, kept: undefined });
  }

  /** False when it is refused. */
  keep(hold: number, answer: ModelAnswer): boolean {
    const owner = this.#of(hold);
    if (owner === undefined) return false;
    if (owner.kept === undefined && this.#stateOf(hold) !== "open") return false;
    owner.kept ??= answer;
    return true;
  }

  kept(hold: number): ModelAnswer | undefined {
    return this.#of(hold)?.kept;
  }

  read(account: number, hold: number, now: number): ModelAnswer | undefined {
    const owner = this.#of(hold);
    return owner?.account === account && owner.since > now - DAY ? owner.kept : undefined;
  }

  #of(hold: number): Owner | undefined {
    return [...this.#owners.values()].find((owner) => owner.hold === hold);
  }
}
