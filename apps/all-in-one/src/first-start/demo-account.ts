// The demo account of the first start: 10 USD, one normal and one management key, written to DATA_DIR/credentials.json.
// Later starts find the file and create nothing.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { creditsOf } from "@gr/money";
import { BillingService, DepositStatus } from "@gr/proto/billing";
import { KeyKind, KeysService } from "@gr/proto/keys";
import type { RunningProcess } from "@gr/runtime";
import { readPrivateFile, writePrivateFile } from "../installation/private-file.ts";

const DEMO_CREDITS = creditsOf("10");

export interface Credentials {
  readonly base_url: string;
  readonly account_id: string;
  readonly api_key: string;
  readonly management_key: string;
}

export interface Demo {
  readonly credentials: Credentials;
  /** True on the start that created the account. */
  readonly isNew: boolean;
  readonly file: string;
}

export async function ensureDemoAccount(
  dataDir: string,
  baseUrl: string,
  dial: RunningProcess["dial"],
): Promise<Demo> {
  const file = join(dataDir, "credentials.json");
  const kept = (await readPrivateFile(file)) as Credentials | undefined;
  if (kept !== undefined) {
    const credentials = { ...kept, base_url: baseUrl };
    if (kept.base_url !== baseUrl) await writePrivateFile(file, credentials);
    return { credentials, isNew: false, file };
  }
  const credentials = await createDemoAccount(baseUrl, dial);
  await writePrivateFile(file, credentials);
  return { credentials, isNew: true, file };
}

async function createDemoAccount(baseUrl: string, dial: RunningProcess["dial"]): Promise<Credentials> {
  const keys = dial("keys", KeysService);
  const { accountId } = await keys.createAccount({ name: "Demo" });
  await dial("billing", BillingService).putDeposit({
    depositId: randomUUID(),
    accountId,
    credits: DEMO_CREDITS,
    status: DepositStatus.COMPLETED,
    source: "demo",
  });
  const normal = await keys.mintKey({ accountId, name: "Demo key", kind: KeyKind.NORMAL });
  const management = await keys.mintKey({ accountId, name: "Demo management key", kind: KeyKind.MANAGEMENT });
  return {
    base_url: baseUrl,
    account_id: accountId,
    api_key: normal.secret,
    management_key: management.secret,
  };
}
