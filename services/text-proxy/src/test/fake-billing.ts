// A billing service at the process edge: keeps holds, claims and answers in memory, records every operation in order,
// and refuses, waits or fails when it is told to.
import { ServiceError } from "@gr/proto";
import {
  BillingService,
  type Claim,
  HoldState,
  type KeepAnswerRequest,
  type Operation,
  OutcomeCode,
  type Place,
} from "@gr/proto/billing";
import { defineModule, implement, type Module } from "@gr/runtime";
import { z } from "zod";

export interface Recorded {
  readonly kind: "place" | "keep" | "capture" | "release";
  readonly holdId: string;
  readonly credits: bigint;
  readonly cost: bigint;
  readonly reason: number;
  readonly deadlineAt: bigint;
}

interface FakeHold {
  state: HoldState;
  readonly deadlineAt: bigint;
  leasedUntil: number;
  readonly claim?: FakeClaim;
  kept?: KeepAnswerRequest;
}

interface FakeClaim {
  readonly id: string;
  readonly fingerprint: string;
}

interface FakeOutcome {
  readonly code: OutcomeCode;
  readonly earlierHoldId?: string;
}

export class FakeBilling {
  readonly operations: Recorded[] = [];
  /** Claims that were asked about and not placed. */
  judged = 0;
  /** Outcome of the next places. */
  placeOutcome: OutcomeCode = OutcomeCode.DONE;
  /** Runs before an operation is recorded; a rejection fails the whole call. */
  before: (operation: Recorded) => Promise<void> = async () => undefined;
  /** Runs before a claim is judged or a kept answer is read; a rejection fails the call. */
  beforeRead: () => Promise<void> = async () => undefined;
  readonly #holds = new Map<string, FakeHold>();

  readonly module: Module = defineModule({
    name: "billing",
    needs: [],
    config: z.object({}),
    create: async () => ({ rpc: [this.#service()] }),
  });

  of(holdId: string): Recorded[] {
    return this.operations.filter((operation) => operation.holdId === holdId);
  }

  state(holdId: string): HoldState {
    return this.#holds.get(holdId)?.state ?? HoldState.UNSPECIFIED;
  }

  openHolds(): string[] {
    return [...this.#holds].filter(([, { state }]) => state === HoldState.OPEN).map(([id]) => id);
  }

  /** What was kept for a hold. */
  keptOf(holdId: string): { contentType: string; body: string } | undefined {
    const kept = this.#holds.get(holdId)?.kept;
    return kept && { contentType: kept.contentType, body: Buffer.from(kept.body).toString() };
  }

  /** A hold that another process left behind. */
  addOpenHold(holdId: string, deadlineAt: number): void {
    this.#holds.set(holdId, { state: HoldState.OPEN, deadlineAt: BigInt(deadlineAt), leasedUntil: 0 });
  }

  /** Somebody else releases an open hold. */
  giveUp(holdId: string): void {
    const hold = this.#holds.get(holdId);
    if (hold !== undefined) hold.state = HoldState.RELEASED;
  }

  /** Time passes for an open hold, until its deadline is past. */
  expire(holdId: string): void {
    const hold = this.#holds.get(holdId);
    if (hold !== undefined) this.#holds.set(holdId, { ...hold, deadlineAt: BigInt(Date.now() - 1) });
  }

  async #post(operation: Operation): Promise<FakeOutcome> {
    const recorded = read(operation);
    await this.before(recorded);
    if (operation.operation.case === "place") return this.#place(operation.operation.value, recorded);
    const { kind, holdId } = recorded;
    const hold = this.#holds.get(holdId);
    if (hold === undefined) return { code: OutcomeCode.UNKNOWN_HOLD };
    this.operations.push(recorded);
    if (hold.state !== HoldState.OPEN) return { code: OutcomeCode.ALREADY_RESOLVED };
    hold.state = kind === "capture" ? HoldState.CAPTURED : HoldState.RELEASED;
    return { code: OutcomeCode.DONE };
  }

  #place({ holdId, accountId, deadlineAt, claim: claimed }: Place, recorded: Recorded): FakeOutcome {
    const claim = claimed && readClaim(accountId, claimed);
    const earlier = claim && this.#judge(claim);
    if (earlier !== undefined) return earlier;
    if (this.placeOutcome === OutcomeCode.DONE) {
      this.operations.push(recorded);
      const hold = { state: HoldState.OPEN, deadlineAt, leasedUntil: 0 };
      this.#holds.set(holdId, claim === undefined ? hold : { ...hold, claim });
    }
    return { code: this.placeOutcome };
  }

  /** Undefined when the key is free. */
  #judge({ id, fingerprint }: FakeClaim): FakeOutcome | undefined {
    for (const [earlierHoldId, hold] of this.#holds) {
      if (hold.claim?.id !== id || hold.state === HoldState.RELEASED) continue;
      if (hold.claim.fingerprint !== fingerprint) return { code: OutcomeCode.CLAIM_MISMATCH };
      if (hold.state === HoldState.OPEN) return { code: OutcomeCode.CLAIM_IN_PROGRESS };
      return { code: OutcomeCode.CLAIM_FINISHED, earlierHoldId };
    }
    return undefined;
  }

  async #keep(request: KeepAnswerRequest): Promise<object> {
    const { holdId, credits, costPicoUsd: cost } = request;
    const recorded: Recorded = { ...NONE, kind: "keep", holdId, credits, cost };
    await this.before(recorded);
    const hold = this.#holds.get(holdId);
    if (hold?.claim === undefined || hold.state !== HoldState.OPEN || hold.leasedUntil > 0) {
      throw new ServiceError("invalid_value", "The hold is not open, has no claim, or is being resolved.");
    }
    this.operations.push(recorded);
    hold.kept ??= request;
    return {};
  }

  #lease(limit: number, leaseMs: number) {
    const now = Date.now();
    const due = [...this.#holds]
      .filter(
        ([, hold]) =>
          hold.state === HoldState.OPEN && Number(hold.deadlineAt) < now && hold.leasedUntil < now,
      )
      .slice(0, limit);
    return due.map(([holdId, hold]) => {
      hold.leasedUntil = now + leaseMs;
      const { deadlineAt, kept } = hold;
      const settlement = kept && { credits: kept.credits, costPicoUsd: kept.costPicoUsd };
      return { holdId, deadlineAt, ...(settlement && { kept: settlement }) };
    });
  }

  #service() {
    const unused = async (): Promise<never> => {
      throw new Error("the text proxy has no business calling this");
    };
    return implement(BillingService, {
      post: async ({ operations }) => {
        const outcomes: FakeOutcome[] = [];
        for (const operation of operations) outcomes.push(await this.#post(operation));
        return { outcomes };
      },
      leaseExpiredHolds: async ({ limit, leaseMs }) => ({ holds: this.#lease(limit, Number(leaseMs)) }),
      keepAnswer: (request) => this.#keep(request),
      readAnswer: async ({ holdId }) => {
        await this.beforeRead();
        const kept = this.#holds.get(holdId)?.kept;
        return kept === undefined ? {} : { answer: { contentType: kept.contentType, body: kept.body } };
      },
      judgeClaim: async ({ accountId, claim }) => {
        await this.beforeRead();
        this.judged += 1;
        const code = OutcomeCode.DONE;
        return { outcome: (claim && this.#judge(readClaim(accountId, claim))) ?? { code } };
      },
      openAccount: unused,
      putSpender: unused,
      putDeposit: unused,
      getCredits: unused,
      listHolds: unused,
      verifyLedger: unused,
      putAdjustment: unused,
    });
  }
}

function readClaim(accountId: string, { key, fingerprint }: Claim): FakeClaim {
  return {
    id: accountId + Buffer.from(key).toString("hex"),
    fingerprint: Buffer.from(fingerprint).toString("hex"),
  };
}

const NONE = { credits: 0n, cost: 0n, reason: 0, deadlineAt: 0n };

function read({ operation }: Operation): Recorded {
  switch (operation.case) {
    case "place": {
      const { holdId, credits, deadlineAt } = operation.value;
      return { ...NONE, kind: "place", holdId, credits, deadlineAt };
    }
    case "capture": {
      const { holdId, credits, costPicoUsd: cost } = operation.value;
      return { ...NONE, kind: "capture", holdId, credits, cost };
    }
    case "release": {
      const { holdId, reason, costPicoUsd: cost } = operation.value;
      return { ...NONE, kind: "release", holdId, reason, cost };
    }
    default:
      throw new Error(`the text proxy has no business sending ${operation.case}`);
  }
}
