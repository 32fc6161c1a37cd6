// BillingService: messages to domain values and back. Every field is checked here, before anything is done.

import type { Outcome } from "@gr/ledger";
import {
  BillingService,
  type CheckSpenderRequest,
  type GetCreditsRequest,
  HoldState as HoldStateMessage,
  type JudgeClaimRequest,
  type KeepAnswerRequest,
  type LeaseExpiredHoldsRequest,
  type PutAdjustmentRequest,
  type PutDepositRequest,
  type PutSpenderRequest,
} from "@gr/proto/billing";
import { implement, LONGEST_PAGE, type RpcService } from "@gr/runtime";
import type { AccountStore, Adjustment, AdjustmentStore, UsagePage } from "../accounts/accounts.ts";
import type { Deposit } from "../accounts/deposit.ts";
import type { Spender } from "../accounts/spender.ts";
import type { AnswerStore, AnswerToKeep, CheckSpender, ClaimingSpender } from "../claims/claim-ports.ts";
import type { BillingEvents } from "../events.ts";
import type { HoldStore, Lease } from "../holds/hold.ts";
import type { LedgerReport } from "../verify/ledger-report.ts";
import { reaching } from "../writer/ledger-error.ts";
import type { OperationWriter } from "../writer/operation.ts";
import {
  bytes,
  cost,
  credits,
  digest,
  instant,
  invalid,
  limit,
  personOf,
  revision,
  signedCredits,
  text,
  uuid,
} from "./field-rules.ts";
import { depositStatusOf, holdStateOf, periodOf } from "./message-names.ts";
import { creditsMessage, holdMessage, outcomeMessage, reportMessage } from "./messages.ts";
import { readClaim, readOperations } from "./read-operations.ts";

export interface BillingDeps {
  readonly writer: OperationWriter;
  readonly accounts: AccountStore;
  readonly adjustments: AdjustmentStore;
  readonly answers: AnswerStore;
  readonly judgeClaim: (claiming: ClaimingSpender) => Promise<Outcome>;
  readonly checkSpender: CheckSpender;
  readonly holds: HoldStore;
  readonly verify: (all: boolean) => Promise<LedgerReport>;
  readonly events: Pick<BillingEvents, "ledgerVerified">;
}

const LONGEST_LEASE_MS = 86_400_000n;
const MOST_ANSWER_BYTES = 8 * 1024 * 1024;

export function billingRpc(deps: BillingDeps): RpcService {
  const { writer, accounts, adjustments, answers, judgeClaim, checkSpender, holds, verify, events } = deps;
  return implement(BillingService, {
    async post(request, { signal }) {
      const operations = readOperations(request.operations);
      return { outcomes: (await reaching(writer.post(operations, signal))).map(outcomeMessage) };
    },
    async openAccount({ accountId }) {
      await reaching(accounts.open(uuid("account_id", accountId)));
      return {};
    },
    async setSuspended({ accountId, suspended }) {
      await reaching(accounts.setSuspended(uuid("account_id", accountId), suspended));
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
    async putAdjustment(request) {
      await reaching(adjustments.put(readAdjustment(request)));
      return {};
    },
    async keepAnswer(request) {
      await reaching(answers.keep(readAnswerToKeep(request)));
      return {};
    },
    async judgeClaim(request) {
      return { outcome: outcomeMessage(await reaching(judgeClaim(readClaiming(request)))) };
    },
    async checkSpender(request) {
      return { outcome: outcomeMessage(await reaching(checkSpender(...readCheck(request)))) };
    },
    async readAnswer({ accountId, holdId }) {
      const answer = await reaching(answers.read(uuid("account_id", accountId), uuid("hold_id", holdId)));
      return answer === undefined ? {} : { answer };
    },
    async getCredits(request) {
      const id = uuid("account_id", request.accountId);
      return creditsMessage(await reaching(accounts.readCredits(id, readUsagePage(request))));
    },
    async listHolds(request) {
      const { accountId, state } = request;
      const page = await reaching(
        holds.list({
          accountId: accountId === "" ? undefined : uuid("account_id", accountId),
          state: state === HoldStateMessage.UNSPECIFIED ? undefined : holdStateOf("state", state),
          limit: limit("limit", request.limit),
          after: request.after === "" ? undefined : uuid("after", request.after),
        }),
      );
      return { holds: page.holds.map(holdMessage), hasMore: page.hasMore };
    },
    async leaseExpiredHolds(request) {
      return { holds: (await reaching(holds.leaseExpired(readLease(request)))).map(holdMessage) };
    },
    async verifyLedger({ all }) {
      const report = await reaching(verify(all));
      events.ledgerVerified(report.differences);
      return reportMessage(report);
    },
  });
}

function readSpender({ spender }: PutSpenderRequest): Spender {
  if (spender === undefined) throw invalid("spender", "A spender is needed");
  const { capCredits: spendLimit, expiresAt } = spender;
  return {
    id: uuid("spender.spender_id", spender.spenderId),
    accountId: uuid("spender.account_id", spender.accountId),
    parentId: spender.parentId === "" ? null : uuid("spender.parent_id", spender.parentId),
    name: text("spender.name", spender.name),
    cap: spendLimit === undefined ? null : credits("spender.cap_credits", spendLimit),
    period: periodOf("spender.period", spender.period),
    expiresAt: expiresAt === undefined ? null : dateOf("spender.expires_at", expiresAt),
    active: spender.active,
    createdAt: dateOf("spender.created_at", spender.createdAt),
    revision: revision("spender.revision", spender.revision),
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

function readAdjustment(request: PutAdjustmentRequest): Adjustment {
  return {
    id: uuid("adjustment_id", request.adjustmentId),
    accountId: uuid("account_id", request.accountId),
    credits: signedCredits("credits", request.credits),
    reason: text("reason", request.reason),
  };
}

function readAnswerToKeep(request: KeepAnswerRequest): AnswerToKeep {
  return {
    accountId: request.accountId === "" ? undefined : uuid("account_id", request.accountId),
    holdId: uuid("hold_id", request.holdId),
    credits: credits("credits", request.credits),
    cost: cost("cost_pico_usd", request.costPicoUsd),
    contentType: text("content_type", request.contentType),
    body: bytes("body", request.body, MOST_ANSWER_BYTES),
  };
}

function readClaiming({ accountId, spenderId, personId, claim }: JudgeClaimRequest): ClaimingSpender {
  if (claim === undefined) throw invalid("claim", "A claim is needed");
  return {
    accountId: uuid("account_id", accountId),
    spenderId: uuid("spender_id", spenderId),
    personId: personOf(personId),
    claim: readClaim(claim, "claim"),
  };
}

function readUsagePage({
  bySpender,
  limit: most,
  after,
  spenderId,
}: GetCreditsRequest): UsagePage | undefined {
  if (!bySpender) return undefined;
  return {
    limit: limit("limit", most, LONGEST_PAGE),
    after: after === "" ? undefined : uuid("after", after),
    only: spenderId === "" ? undefined : [uuid("spender_id", spenderId)],
  };
}

function readCheck({
  accountId,
  spenderId,
  personId,
  claimKey,
  credits: least,
}: CheckSpenderRequest): Parameters<CheckSpender> {
  const payer = {
    accountId: uuid("account_id", accountId),
    spenderId: uuid("spender_id", spenderId),
    personId: personOf(personId),
  };
  const key = claimKey.byteLength === 0 ? undefined : digest("claim_key", claimKey);
  return [payer, key, credits("credits", least)];
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
