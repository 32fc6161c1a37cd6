// Chain reads own the followers and the reads of one process over the test database of a chain rig.
import type { Lease as LeaseOperation } from "@gr/ledger";
import { createLogger, type Pool } from "@gr/runtime";
import { Follower, type StepReader } from "../../follower/follower.ts";
import { openHoldsReader } from "../../follower/open-hold-store.ts";
import { sumsReader } from "../../follower/sums-store.ts";
import { AccountReader } from "../../reads/account-reader.ts";
import { createDryRuns } from "../../reads/dry-runs.ts";
import { createHoldReads } from "../../reads/hold-reads.ts";
import { createReportReads } from "../../reads/report-reads-store.ts";
import type { ChainRig, ChainWriterUnderTest } from "./chain-rig.ts";

export function followerOn(pool: Pool, reader: StepReader): Follower {
  return new Follower({ pool, reader, log: createLogger("silent", "test"), pauseMs: 0 });
}

/** Both followers of a process. */
export function followersOn(pool: Pool) {
  const [sums, openHolds] = [followerOn(pool, sumsReader), followerOn(pool, openHoldsReader)];
  const catchUp = async () => {
    await Promise.all([sums.catchUp(), openHolds.catchUp()]);
  };
  return { sums, openHolds, catchUp };
}

export function readsOn({ pool, clock }: ChainRig, writer: ChainWriterUnderTest) {
  const accounts = new AccountReader(pool);
  const { sums, openHolds } = followersOn(pool);
  const post = (operations: readonly LeaseOperation[]) => writer.post(...operations);
  return {
    accounts,
    dryRuns: createDryRuns(accounts, clock),
    holds: createHoldReads({ pool, clock, accounts, openHolds, post, log: createLogger("silent", "test") }),
    reports: createReportReads({ pool, accounts, sums }),
  };
}
