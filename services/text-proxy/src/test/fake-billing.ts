// A billing service at the process edge: keeps holds in memory, records every operation in order, and refuses, waits
// or fails when it is told to.
import { BillingService, HoldState, type Operation, OutcomeCode } from "@gr/proto/billing";
import { defineModule, implement, type Module } from "@gr/runtime";
import { z } from "zod";

export interface Recorded {
  readonly kind: "place" | "capture" | "release";
  readonly holdId: string;
  readonly credits: bigint;
  readonly cost: bigint;
  readonly reason: number;
  readonly deadlineAt: bigint;
}

export class FakeBilling {
  readonly operations: Recorded[] = [];
  /** Outcome of the next places. */
  placeOutcome: OutcomeCode = OutcomeCode.DONE;
  /** Runs before an operation is recorded; a rejection fails the whole call. */
  before: (operation: Recorded) => Promise<void> = async () => undefined;
  readonly #holds = new Map<string, { state: HoldState; deadlineAt: bigint; leasedUntil: number }>();

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

  /** A hold that another process left behind. */
  addOpenHold(holdId: string, deadlineAt: number): void {
    this.#holds.set(holdId, { state: HoldState.OPEN, deadlineAt: BigInt(deadlineAt), leasedUntil: 0 });
  }

  async #post(operation: Operation): Promise<{ code: OutcomeCode }> {
    const recorded = read(operation);
    await this.before(recorded);
    const { kind, holdId, deadlineAt } = recorded;
    if (kind === "place") {
      if (this.placeOutcome === OutcomeCode.DONE) {
        this.operations.push(recorded);
        this.#holds.set(holdId, { state: HoldState.OPEN, deadlineAt, leasedUntil: 0 });
      }
      return { code: this.placeOutcome };
    }
    const hold = this.#holds.get(holdId);
    if (hold === undefined) return { code: OutcomeCode.UNKNOWN_HOLD };
    this.operations.push(recorded);
    if (hold.state !== HoldState.OPEN) return { code: OutcomeCode.ALREADY_RESOLVED };
    hold.state = kind === "capture" ? HoldState.CAPTURED : HoldState.RELEASED;
    return { code: OutcomeCode.DONE };
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
      return { holdId, deadlineAt: hold.deadlineAt };
    });
  }

  #service() {
    const unused = async (): Promise<never> => {
      throw new Error("the text proxy has no business calling this");
    };
    return implement(BillingService, {
      post: async ({ operations }) => {
        const outcomes: { code: OutcomeCode }[] = [];
        for (const operation of operations) outcomes.push(await this.#post(operation));
        return { outcomes };
      },
      leaseExpiredHolds: async ({ limit, leaseMs }) => ({ holds: this.#lease(limit, Number(leaseMs)) }),
      openAccount: unused,
      putSpender: unused,
      putDeposit: unused,
      getCredits: unused,
      listHolds: unused,
      verifyLedger: unused,
      putAdjustment: unused,
      keepAnswer: unused,
      readAnswer: unused,
    });
  }
}

function read({ operation }: Operation): Recorded {
  const none = { credits: 0n, cost: 0n, reason: 0, deadlineAt: 0n };
  switch (operation.case) {
    case "place": {
      const { holdId, credits, deadlineAt } = operation.value;
      return { ...none, kind: "place", holdId, credits, deadlineAt };
    }
    case "capture": {
      const { holdId, credits, costPicoUsd: cost } = operation.value;
      return { ...none, kind: "capture", holdId, credits, cost };
    }
    case "release": {
      const { holdId, reason, costPicoUsd: cost } = operation.value;
      return { ...none, kind: "release", holdId, reason, cost };
    }
    default:
      throw new Error(`the text proxy has no business sending ${operation.case}`);
  }
}
