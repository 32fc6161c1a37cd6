// MediaGenerationService serves the peers of this module, and operators.
import { type LossBreaker, lossCalls } from "@gr/paid-request";
import { MediaGenerationService } from "@gr/proto/media";
import { implement, type RpcService } from "@gr/runtime";
import { type LogCallsDeps, logCalls } from "./log/log-rpc.ts";
import { retentionCalls } from "./retention/retention-rpc.ts";
import type { Days, RetentionStore } from "./retention/retention-store.ts";
import { type WebhookCallsDeps, webhookRpc } from "./webhooks/webhook-rpc.ts";

export interface RpcDeps extends LogCallsDeps, WebhookCallsDeps {
  readonly losses: LossBreaker;
  readonly retention: RetentionStore;
  /** Retention of accounts without their own period. */
  readonly retentionDays: Days;
}

export function mediaGenerationRpc(deps: RpcDeps): RpcService[] {
  const { losses, retention, retentionDays } = deps;
  const calls = { ...logCalls(deps), ...retentionCalls(retention, retentionDays), ...lossCalls(losses) };
  return [implement(MediaGenerationService, calls), webhookRpc(deps)];
}
