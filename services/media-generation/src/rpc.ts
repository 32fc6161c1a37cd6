// MediaGenerationService serves this module's RPC for its peers and for operators.
import { MediaGenerationService } from "@gr/proto/media";
import { implement, type RpcService } from "@gr/runtime";
import { type LogCallsDeps, logCalls } from "./log/log-rpc.ts";
import { retentionCalls } from "./retention/retention-rpc.ts";
import type { Days, RetentionStore } from "./retention/retention-store.ts";

export interface RpcDeps extends LogCallsDeps {
  readonly retention: RetentionStore;
  /** Retention of accounts without their own period. */
  readonly retentionDays: Days;
}

export function mediaGenerationRpc(deps: RpcDeps): RpcService[] {
  const { retention, retentionDays } = deps;
  const calls = { ...logCalls(deps), ...retentionCalls(retention, retentionDays) };
  return [implement(MediaGenerationService, calls)];
}
