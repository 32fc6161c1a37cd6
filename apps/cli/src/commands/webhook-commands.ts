// webhook show, set, rotate-secret, list, redeliver
import { type WebhookDelivery, WebhookState } from "@gr/proto/webhooks";
import type { Command } from "commander";
import type { Runs } from "../command.ts";
import { countOf, isoText, oneOf } from "../option-values.ts";
import { report } from "../output/report.ts";
import { type Column, table } from "../output/table.ts";

const STATES = {
  pending: WebhookState.PENDING,
  delivered: WebhookState.DELIVERED,
  failed: WebhookState.FAILED,
} as const;
const MOST_LISTED = 100;

interface OfAccount {
  readonly account: string;
}
interface SetOptions extends OfAccount {
  readonly key?: string;
  readonly url?: string;
}
interface ListOptions extends OfAccount {
  readonly key?: string;
  readonly state?: WebhookState;
  readonly limit: number;
  readonly after?: string;
}

export function addWebhookCommands(program: Command, runs: Runs): void {
  const webhook = program
    .command("webhook")
    .description("messages about the end of jobs, to receivers of accounts");
  const ofAccount = (name: string, description: string) =>
    webhook.command(name).description(description).requiredOption("--account <id>", "id of the account");
  ofAccount("show", "show the default receivers and the ages of the signing secrets").action(
    runs(async (router, { account }: OfAccount) => {
      const settings = await router.webhooks().getWebhookSettings({ accountId: account });
      const receivers = settings.receivers.map(({ keyId, url }) => ({ key_id: keyId || null, url }));
      const secrets = settings.secrets.map(({ createdAt, expiresAt }) => ({
        created_at: isoText(createdAt),
        expires_at: expiresAt === undefined ? null : isoText(expiresAt),
      }));
      const text = [
        table(receivers, RECEIVER_COLUMNS, "There is no default receiver."),
        table(secrets, SECRET_COLUMNS, "There is no signing secret yet."),
      ].join("\n\n");
      return report({ receivers, secrets }, text);
    }),
  );
  ofAccount("set", "set the default receiver of an account or of a key; without --url remove it")
    .option("--key <id>", "of this API key only")
    .option("--url <url>", "address: http or https, port 80 or 443, in the public internet")
    .action(
      runs(async (router, { account, key = "", url = "" }: SetOptions) => {
        const set = await router.webhooks().setWebhookReceiver({ accountId: account, keyId: key, url });
        const whose = key === "" ? `account ${account}` : `key ${key}`;
        const text =
          set.url === ""
            ? `The default receiver of ${whose} is removed.`
            : `${whose} has the receiver ${set.url}.`;
        return report({ account_id: account, key_id: key || null, url: set.url || null }, text);
      }),
    );
  ofAccount(
    "rotate-secret",
    "create a signing secret and print it, once; the one before signs for 24 h more",
  ).action(
    runs(async (router, { account }: OfAccount) => {
      const { secret } = await router.webhooks().rotateWebhookSecret({ accountId: account });
      return report(
        { account_id: account, secret },
        `${secret}\nCopy this secret now. You will not be able to see it again.`,
      );
    }),
  );
  ofAccount("list", "list the deliveries of an account, newest first")
    .option("--key <id>", "about jobs of this API key only")
    .option("--state <state>", "pending, delivered or failed", oneOf<WebhookState>(STATES))
    .option("--limit <count>", `at most so many, up to ${MOST_LISTED}`, countOf, MOST_LISTED)
    .option("--after <id>", "go on after this delivery, the last of the page before")
    .action(
      runs(
        async (
          router,
          { account, key = "", state = WebhookState.UNSPECIFIED, limit, after = "" }: ListOptions,
        ) => {
          const request = { accountId: account, keyId: key, state, limit, after };
          const { deliveries, hasMore } = await router.webhooks().listWebhookDeliveries(request);
          const records = deliveries.map(recordOf);
          const more = hasMore ? `\nThere are more: --after ${records.at(-1)?.id}\n` : "";
          const text = table(records, DELIVERY_COLUMNS, "There are no such deliveries.");
          return report({ deliveries: records, has_more: hasMore }, `${text}${more}`);
        },
      ),
    );
  ofAccount("redeliver", "send an ended delivery again, under the same id")
    .requiredOption("--id <id>", "id of the delivery")
    .action(
      runs(async (router, { account, id }: OfAccount & { readonly id: string }) => {
        const { delivery } = await router.webhooks().redeliverWebhook({ accountId: account, id });
        if (delivery === undefined) throw new Error("the answer has no delivery");
        return report(recordOf(delivery), `The delivery ${delivery.id} is sent again.`);
      }),
    );
}

type DeliveryRecord = ReturnType<typeof recordOf>;

function recordOf(delivery: WebhookDelivery) {
  const { id, keyId, type, url, state, attempts, createdAt, nextAttemptAt, lastStatus, lastError } = delivery;
  return {
    id,
    key_id: keyId || null,
    type,
    url,
    state: Object.entries(STATES).find(([, value]) => value === state)?.[0] ?? "unknown",
    attempts,
    created_at: isoText(createdAt),
    next_attempt_at: nextAttemptAt === undefined ? null : isoText(nextAttemptAt),
    last_status: lastStatus || null,
    last_error: lastError || null,
  };
}

const RECEIVER_COLUMNS: readonly Column<{ readonly key_id: string | null; readonly url: string }>[] = [
  { title: "KEY", cell: ({ key_id }) => key_id ?? "all" },
  { title: "URL", cell: ({ url }) => url },
];

const SECRET_COLUMNS: readonly Column<{
  readonly created_at: string | null;
  readonly expires_at: string | null;
}>[] = [
  { title: "SECRET OF", cell: ({ created_at }) => created_at ?? "-" },
  { title: "SIGNS UNTIL", cell: ({ expires_at }) => expires_at ?? "-" },
];

const DELIVERY_COLUMNS: readonly Column<DeliveryRecord>[] = [
  { title: "ID", cell: ({ id }) => id },
  { title: "TYPE", cell: ({ type }) => type },
  { title: "STATE", cell: ({ state }) => state },
  { title: "ATTEMPTS", cell: ({ attempts }) => String(attempts), isRightAligned: true },
  {
    title: "STATUS",
    cell: ({ last_status }) => (last_status === null ? "-" : String(last_status)),
    isRightAligned: true,
  },
  { title: "CREATED", cell: ({ created_at }) => created_at ?? "-" },
  { title: "URL", cell: ({ url }) => url },
];
