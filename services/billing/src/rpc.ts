// BillingService: messages to domain values and back. Every field is checked here, before anything is done.

import {
  BillingService,
  HoldState as HoldStateMessage,
  type LeaseExpiredHoldsRequest,
  type PutDepositRequest,
  type PutSpenderRequest,
} from "@gr/proto/billing";
import { implement, type RpcService } from "@gr/runtime";
import type { AccountStore } from "./account-store.ts";
import type { Deposit } from "./deposit.ts";
import type { BillingEvents } from "./events.ts";
import { credits, instant, invalid, limit, text, uuid } from "./field-rules.ts";
import type { HoldStore, Lease } from "./hold-store.ts";
import { ledgerError } from "./ledger-error.ts";
import type { LedgerReport } from "./ledger-report.ts";
import type { LedgerWriter } from "./ledger-writer.ts";
import { depositStatusOf, holdStateOf, periodOf } from "./message-names.ts";
import { creditsMessage, holdMessage, outcomeMessage, reportMessage } from "./messages.ts";
import { readOperations } from "./read-operations.ts";
import type { Spender } from "./spender.ts";

export interface BillingDeps {
  readonly writer: LedgerWriter;
  readonly accounts: AccountStore;
  readonly holds: HoldStore;
  readonly verify: () => Promise<LedgerReport>;
  readonly events: BillingEvents;
}

const LONGEST_LEASE_MS = 86_400_000n;

export function billingRpc({ writer, accounts, holds, verify, events }: BillingDeps): RpcService {
  return implement(BillingService, {
    async post(request, { signal }) {
      const operations = readOperations(request.operations);
      return { outcomes: (await writer.post(operations, signal)).map(outcomeMessage) };
    },
    async openAccount({ accountId }) {
      await reaching(accounts.open(uuid("account_id", accountId)));
      return {};
    },
    async putSpender(request) {
      await reaching(accounts.putSpender(readSpender(request)));
      return {};
    },
    async putDeposit(request) {
      await reaching(accounts.putDeposit(readDeposit(request)));
      return {};
    },
    async getCredits({ accountId, bySpender }) {
      const id = uuid("account_id", accountId);
      return creditsMessage(await reaching(accounts.readCredits(id, bySpender)));
    },
    async listHolds(request) {
      const { accountId, state } = request;
      const found = await reaching(
        holds.list({
          accountId: accountId === "" ? undefined : uuid("account_id", accountId),
          state: state === HoldStateMessage.UNSPECIFIED ? undefined : holdStateOf("state", state),
          limit: limit("limit", request.limit),
        }),
      );
      return { holds: found.map(holdMessage) };
    },
    async leaseExpiredHolds(request) {
      return { holds: (await reaching(holds.leaseExpired(readLease(request)))).map(holdMessage) };
    },
    async verifyLedger() {
      const report = await reaching(verify());
      events.ledgerVerified(report.differences);
      return reportMessage(report);
    },
  });
}

async function reaching<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((error) => {
    throw ledgerError(error);
  });
}

function readSpender({ spender }: PutSpenderRequest): Spender {
  if (spender === undefined) throw invalid("spender", "A spender is needed");
  const { capCredits, expiresAt } = spender;
  return {
    id: uuid("spender.spender_id", spender.spenderId),
    accountId: uuid("spender.account_id", spender.accountId),
    name: text("spender.name", spender.name),
    cap: capCredits === undefined ? null : credits("spender.cap_credits", capCredits),
    period: periodOf("spender.period", spender.period),
    expiresAt: expiresAt === undefined ? null : dateOf("spender.expires_at", expiresAt),
    active: spender.active,
    createdAt: dateOf("spender.created_at", spender.createdAt),
  };
}

function readDeposit(request: PutDepositRequest): Deposit {
  const amount = credits("credits", request.credits);
  if (amount === 0n) throw invalid("credits", "A deposit must be above zero");
  return {
    id: uuid("deposit_id", request.depositId),
    accountId: uuid("account_id", request.accountId),
    credits: amount,
    status: depositStatusOf("status", request.status),
    source: text("source", request.source),
  };
}

function readLease({ service, limit: most, leaseMs }: LeaseExpiredHoldsRequest): Lease {
  if (leaseMs <= 0n || leaseMs > LONGEST_LEASE_MS) {
    throw invalid("lease_ms", `It must be from 1 to ${LONGEST_LEASE_MS} milliseconds`);
  }
  return { service: text("service", service), limit: limit("limit", most), leaseMs };
}

function dateOf(field: string, unixMs: bigint): Date {
  return new Date(Number(instant(field, unixMs)));
}
