// A billing service at the process edge: records what the keys module writes to it, and fails when it is told to.
import { BillingService, type Spender } from "@gr/proto/billing";
import { defineModule, implement, type Module } from "@gr/runtime";
import { z } from "zod";

export interface RecordingBilling {
  readonly module: Module;
  readonly openedAccounts: string[];
  /** Every spender that was put, in order. */
  readonly spenders: Spender[];
  /** Runs before a spender is recorded; a rejection is what the caller of PutSpender gets. */
  beforePutSpender: (spender: Spender) => Promise<void>;
  beforeOpenAccount: (accountId: string) => Promise<void>;
}

export function createRecordingBilling(): RecordingBilling {
  const unused = async (): Promise<never> => {
    throw new Error("the keys module has no business calling this");
  };
  const recording: RecordingBilling = {
    openedAccounts: [],
    spenders: [],
    beforePutSpender: async () => undefined,
    beforeOpenAccount: async () => undefined,
    module: defineModule({
      name: "billing",
      needs: [],
      config: z.object({}),
      create: async () => ({ rpc: [service] }),
    }),
  };
  const service = implement(BillingService, {
    async openAccount({ accountId }) {
      await recording.beforeOpenAccount(accountId);
      recording.openedAccounts.push(accountId);
      return {};
    },
    async putSpender({ spender }) {
      if (spender === undefined) throw new Error("PutSpender without a spender");
      await recording.beforePutSpender(spender);
      recording.spenders.push(spender);
      return {};
    },
    post: unused,
    putDeposit: unused,
    // The spenders as they were recorded last, and nothing of money.
    getCredits: async () => ({ usage: recording.spenders.toReversed().map((spender) => ({ spender })) }),
    listHolds: unused,
    leaseExpiredHolds: unused,
    verifyLedger: unused,
    putAdjustment: unused,
    keepAnswer: unused,
    readAnswer: unused,
    judgeClaim: unused,
  });
  return recording;
}
