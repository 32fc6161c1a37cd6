// MediaGenerationService: what this module does for its peers and for operators.
import { MediaGenerationService } from "@gr/proto/media";
import { implement, type RpcService } from "@gr/runtime";
import { logCalls } from "./log/log-rpc.ts";
import type { LogStore } from "./log/log-store.ts";
import { retentionCalls } from "./retention/retention-rpc.ts";
import type { Days, RetentionStore } from "./retention/retention-store.ts";

export interface RpcDeps {
  readonly generationLog: LogStore;
  readonly retention: RetentionStore;
  /** How long media are kept of accounts that have no term of their own. */
  readonly retentionDays: Days;
  readonly publicBaseUrl: string;
}

export function mediaGenerationRpc(deps: RpcDeps): RpcService[] {
  const { generationLog, retention, retentionDays, publicBaseUrl } = deps;
  const calls = { ...logCalls(generationLog, publicBaseUrl), ...retentionCalls(retention, retentionDays) };
  return [implement(MediaGenerationService, calls)];
}
