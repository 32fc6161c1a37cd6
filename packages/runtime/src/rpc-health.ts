// grpc.health.v1 over the readiness of the process, so that Kubernetes and grpc clients can ask.
import { Health, HealthCheckResponse_ServingStatus as Status } from "@gr/proto/health";
import { implement, type RpcService } from "./module.ts";
import { pause } from "./pause.ts";

const WATCH_INTERVAL_MS = 1_000;

/** @param isReady asked on every check; a Watch re-asks each second and reports changes. */
export function healthService(isReady: () => Promise<boolean>): RpcService {
  const status = async () => ((await isReady()) ? Status.SERVING : Status.NOT_SERVING);
  return implement(Health, {
    async check() {
      return { status: await status() };
    },
    async *watch(_request, context) {
      let last: Status | undefined;
      while (!context.signal.aborted) {
        const now = await status();
        if (now !== last) yield { status: now };
        last = now;
        await pause(WATCH_INTERVAL_MS, context.signal);
      }
    },
  });
}
