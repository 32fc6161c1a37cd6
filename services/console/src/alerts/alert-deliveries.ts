// AlertDeliveries send the mails and webhooks of alerts. A row of the database assigns each to one process, which sends
// it and then records it. If a process dies in between, another one sends again: a mail with the same Message-ID, and a
// webhook that media-generation accepts once.
import { type Reason, ServiceError } from "@gr/proto";
import type { WebhookService } from "@gr/proto/webhooks";
import type { Clock, ServiceClient } from "@gr/runtime";
import type { Attempts } from "../door/attempts.ts";
import type { ConsoleEvents } from "../events.ts";
import type { Links } from "../mail/links.ts";
import type { Mailer } from "../mail/mailer.ts";
import type { AlertStore, DueMail, DueWebhook } from "./alert-store.ts";
import { eventTypeOf, mailText, sentenceOf, subjectOf } from "./alert-text.ts";

const FIRST_RETRY_MS = 60_000;
const LONGEST_RETRY_MS = 3_600_000;
/** About half a day. */
const MOST_TRIES = 16;
/** Refusals that a repeat would get again. */
const FINAL: ReadonlySet<Reason> = new Set(["invalid_value", "url_not_allowed"]);

export interface AlertDeliveriesDeps {
  readonly alerts: Pick<AlertStore, "claimMails" | "endMails" | "claimWebhook" | "endWebhook" | "recipients">;
  readonly mailer: Pick<Mailer, "sends" | "deliver">;
  readonly links: Pick<Links, "alerts">;
  readonly attempts: Pick<Attempts, "mayMailAlert">;
  readonly webhooks: Pick<ServiceClient<typeof WebhookService>, "sendEvent">;
  readonly events: Pick<ConsoleEvents, "alertNotSent">;
  readonly clock: Clock;
}

export interface AlertDeliveries {
  /** Sends all that is due. */
  sendDue(stopping: AbortSignal): Promise<void>;
}

export function createAlertDeliveries(deps: AlertDeliveriesDeps): AlertDeliveries {
  const { alerts, clock } = deps;
  const now = () => new Date(clock.now());
  return {
    sendDue: async (stopping) => {
      while (!stopping.aborted) {
        const due = await alerts.claimMails(now(), new Date(clock.now() + FIRST_RETRY_MS));
        if (due === undefined) break;
        await sendMail(deps, due);
      }
      while (!stopping.aborted) {
        const due = await alerts.claimWebhook(now(), new Date(clock.now() + FIRST_RETRY_MS));
        if (due === undefined) break;
        await sendWebhook(deps, due);
      }
    },
  };
}

async function sendMail(deps: AlertDeliveriesDeps, due: DueMail): Promise<void> {
  const { alerts, mailer, links, attempts, events } = deps;
  const ids = due.alerts.map(({ id }) => id);
  const to = await alerts.recipients(due.accountId);
  if (!mailer.sends || to.length === 0) return alerts.endMails(ids, "failed");
  if (!(await attempts.mayMailAlert(due.accountId))) return alerts.endMails(ids, "limited");
  try {
    await mailer.deliver({
      to,
      subject: subjectOf(due.accountName, due.alerts),
      text: mailText(due.accountName, due.alerts),
      link: links.alerts(due.accountId),
      id: ids[0] ?? "",
    });
    await alerts.endMails(ids, "sent");
  } catch (error) {
    events.alertNotSent("mail", error);
    const tries = Math.max(...due.alerts.map((one) => one.tries));
    if (tries >= MOST_TRIES) await alerts.endMails(ids, "failed");
    else await alerts.endMails(ids, "pending", retryAt(deps, tries));
  }
}

async function sendWebhook(deps: AlertDeliveriesDeps, due: DueWebhook): Promise<void> {
  const { alerts, webhooks, events } = deps;
  const { id, accountId, kind, facts, at, url, tries } = due;
  const data = { id, kind, account_id: accountId, at: at.toISOString(), text: sentenceOf(due), ...facts };
  try {
    await webhooks.sendEvent({ id, accountId, type: eventTypeOf(kind), data: JSON.stringify(data), url });
    await alerts.endWebhook(id, "sent");
  } catch (error) {
    events.alertNotSent("webhook", error);
    if (error instanceof ServiceError && FINAL.has(error.reason)) await alerts.endWebhook(id, "refused");
    else if (tries >= MOST_TRIES) await alerts.endWebhook(id, "failed");
    else await alerts.endWebhook(id, "pending", retryAt(deps, tries));
  }
}

function retryAt({ clock }: AlertDeliveriesDeps, tries: number): Date {
  return new Date(clock.now() + Math.min(FIRST_RETRY_MS * 2 ** (tries - 1), LONGEST_RETRY_MS));
}
