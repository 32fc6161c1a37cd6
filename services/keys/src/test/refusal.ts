// refusal returns the error of a refused RPC, for tests that compare it.
import { ServiceError } from "@gr/proto";

export async function refusal(
  call: Promise<unknown>,
): Promise<{ reason: string; param: string | undefined; message: string }> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ServiceError)) throw new Error(`not refused: ${String(error)}`);
  return { reason: error.reason, param: error.param, message: error.message };
}
