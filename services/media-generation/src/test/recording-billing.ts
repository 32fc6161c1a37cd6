// A billing service at the process edge: keeps holds as the real one does, records every operation, and delays, refuses
// or fails where a test wants it.
import {
  BillingService,
  type Hold,
  HoldState,
  type Operation,
  OutcomeCode,
  type ReleaseReason,
} from "@gr/proto/billing";
import { type Clock, defineModule, implement, type Module, systemClock } from "@gr/runtime";
import { z } from "zod";

type HoldFields = Omit<Hold, "$typeName" | "$unknown">;

export interface RecordedHold extends HoldFields {
  releaseReason?: ReleaseReason;
}

export interface RecordingBilling {
  readonly module: Module;
  readonly holds: Map<string, RecordedHold>;
  /** Every operation that was applied, "place", "capture" or "release", in order. */
  readonly log: string[];
  /** Runs before a batch is applied; a rejection is what the caller of Post gets, and nothing is applied. */
  before: (operations: readonly Operation[]) => Promise<void>;
  /** Runs after a batch was applied and before it is answered. */
  after: (operations: readonly Operation[]) => Promise<void>;
  /** What places are answered; anything but DONE refuses. */
  placeOutcome: OutcomeCode;
  open(): RecordedHold[];
  /** Everything charged, in credits. */
  charged(): bigint;
}

const unused = async (): Promise<never> => {
  throw new Error("media generation has no business calling this");
};

export function createRecordingBilling(clock: Clock = systemClock): RecordingBilling {
  const recording: RecordingBilling = {
    holds: new Map(),
    log: [],
    before: async () => undefined,
    after: async () => undefined,
    placeOutcome: OutcomeCode.DONE,
    open: () => [...recording.holds.values()].filter(({ state }) => state === HoldState.OPEN),
    charged: () =>
      [...recording.holds.values()].reduce((sum, { chargedCredits }) => sum + chargedCredits, 0n),
    module: defineModule({
      name: "billing",
      needs: [],
      config: z.object({}),
      create: async () => ({ rpc: [service] }),
    }),
  };
  const service = implement(BillingService, {
    async post({ operations }) {
      await recording.before(operations);
      const outcomes = operations.map(({ operation }) => ({ code: apply(recording, operation) }));
      await recording.after(operations);
      return { outcomes };
    },
    async leaseExpiredHolds({ service: name, limit }) {
      const due = ({ service, deadlineAt }: RecordedHold) =>
        service === name && deadlineAt <= BigInt(clock.now());
      return { holds: recording.open().filter(due).slice(0, limit) };
    },
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
  return recording;
}

function apply(recording: RecordingBilling, operation: Operation["operation"]): OutcomeCode {
  const { holds, log } = recording;
  const hold = holds.get(operation.value?.holdId ?? "");
  switch (operation.case) {
    case "place": {
      if (recording.placeOutcome !== OutcomeCode.DONE) return recording.placeOutcome;
      log.push("place");
      if (hold === undefined) {
        const { $typeName: _, $unknown: __, ...place } = operation.value;
        const fresh = { state: HoldState.OPEN, chargedCredits: 0n, costPicoUsd: 0n, placedAt: 0n };
        holds.set(place.holdId, { ...place, ...fresh });
      }
      return OutcomeCode.DONE;
    }
    case "capture":
      log.push("capture");
      if (hold === undefined) return OutcomeCode.UNKNOWN_HOLD;
      if (hold.state === HoldState.RELEASED) return OutcomeCode.ALREADY_RESOLVED;
      // A second capture of the same hold changes nothing.
      if (hold.state === HoldState.OPEN) {
        hold.state = HoldState.CAPTURED;
        hold.chargedCredits = operation.value.credits;
        hold.costPicoUsd = operation.value.costPicoUsd;
      }
      return OutcomeCode.DONE;
    case "release":
      log.push("release");
      if (hold === undefined) return OutcomeCode.UNKNOWN_HOLD;
      if (hold.state === HoldState.CAPTURED) return OutcomeCode.ALREADY_RESOLVED;
      if (hold.state === HoldState.OPEN) {
        hold.state = HoldState.RELEASED;
        hold.costPicoUsd = operation.value.costPicoUsd;
        hold.releaseReason = operation.value.reason;
      }
      return OutcomeCode.DONE;
    default:
      throw new Error(`unexpected operation ${operation.case}`);
  }
}
