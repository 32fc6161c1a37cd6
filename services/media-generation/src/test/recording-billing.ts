// A billing service at the process edge: keeps holds as the real one does, records every operation, and delays, refuses
// or fails where a test wants it.
import {
  BillingService,
  type Claim,
  type Hold,
  HoldState,
  type Operation,
  OutcomeCode,
  type Place,
  type ReleaseReason,
} from "@gr/proto/billing";
import { type Clock, defineModule, implement, type Module, systemClock } from "@gr/runtime";
import { z } from "zod";

type HoldFields = Omit<Hold, "$typeName" | "$unknown">;

export interface RecordedHold extends HoldFields {
  releaseReason?: ReleaseReason;
  claim?: Claim | undefined;
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
  /** What places without a finished claim are answered; anything but DONE refuses. */
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
      const outcomes = operations.map(({ operation }) => apply(recording, operation));
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
    judgeClaim: async (claiming) => ({
      outcome: claimOutcome(recording, claiming) ?? { code: OutcomeCode.DONE },
    }),
    keepAnswer: unused,
    readAnswer: unused,
  });
  return recording;
}

interface RecordedOutcome {
  readonly code: OutcomeCode;
  readonly earlierHoldId?: string;
}

function apply(recording: RecordingBilling, operation: Operation["operation"]): RecordedOutcome {
  if (operation.case !== "place") return { code: resolve(recording, operation) };
  const { $typeName: _, $unknown: __, ...place } = operation.value;
  const claimed = claimOutcome(recording, operation.value);
  if (claimed !== undefined) return claimed;
  if (recording.placeOutcome !== OutcomeCode.DONE) return { code: recording.placeOutcome };
  recording.log.push("place");
  if (!recording.holds.has(place.holdId)) {
    const fresh = { state: HoldState.OPEN, attempt: 1, chargedCredits: 0n, costPicoUsd: 0n, placedAt: 0n };
    recording.holds.set(place.holdId, { ...place, ...fresh });
  }
  return { code: OutcomeCode.DONE };
}

/** A claim belongs to its hold until that is released. */
function claimOutcome(
  { holds }: RecordingBilling,
  { claim, accountId, holdId }: Pick<Place, "accountId" | "claim"> & { readonly holdId?: string },
): RecordedOutcome | undefined {
  if (claim === undefined) return undefined;
  const owner = [...holds.values()].find(
    (hold) =>
      hold.state !== HoldState.RELEASED &&
      hold.accountId === accountId &&
      hold.claim !== undefined &&
      Buffer.compare(hold.claim.key, claim.key) === 0,
  );
  if (owner?.claim === undefined || owner.holdId === holdId) return undefined;
  if (Buffer.compare(owner.claim.fingerprint, claim.fingerprint) !== 0) {
    return { code: OutcomeCode.CLAIM_MISMATCH };
  }
  if (owner.state === HoldState.OPEN) return { code: OutcomeCode.CLAIM_IN_PROGRESS };
  return { code: OutcomeCode.CLAIM_FINISHED, earlierHoldId: owner.holdId };
}

function resolve({ holds, log }: RecordingBilling, operation: Operation["operation"]): OutcomeCode {
  const hold = holds.get(operation.value?.holdId ?? "");
  switch (operation.case) {
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
    case "nextAttempt":
      log.push("nextAttempt");
      if (hold === undefined) return OutcomeCode.UNKNOWN_HOLD;
      if (hold.state !== HoldState.OPEN) return OutcomeCode.ALREADY_RESOLVED;
      hold.provider = operation.value.provider;
      hold.attempt = operation.value.attempt;
      return OutcomeCode.DONE;
    default:
      throw new Error(`unexpected operation ${operation.case}`);
  }
}
