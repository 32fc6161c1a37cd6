// Alert routes show the history of an account's alerts to its members, and the settings to its admins.
import type { AlertSettingsRecord } from "@gr/console-api";
import { formatCredits, parseCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import type { Alert, AlertSettings } from "../../alerts/alert-store.ts";
import { sentenceOf } from "../../alerts/alert-text.ts";
import type { ConsoleDeps } from "../../console-deps.ts";
import { accountOf, type Handlers } from "../../door/console-call.ts";
import { bigintCursor, pageLimit } from "../../requests/pages.ts";
import { recordAudit } from "../audit.ts";

type AlertRoutes = Handlers<
  "listAlerts" | "readAlertSettings" | "changeAlertSettings" | "testAlert" | "rotateAlertSecret"
>;

const NO_SETTINGS: AlertSettings = {
  lowBalance: null,
  budgetPercents: [],
  failurePercent: null,
  byMail: false,
  webhookUrl: null,
};

export function alertRoutes(deps: ConsoleDeps): AlertRoutes {
  const { alerts, attempts, mailer, webhooks, clock } = deps;
  const now = () => new Date(clock.now());
  const recordOf = async (accountId: string): Promise<AlertSettingsRecord> => {
    const [settings, recipients] = await Promise.all([
      alerts.settingsOf(accountId),
      alerts.recipients(accountId),
    ]);
    const { lowBalance, budgetPercents, failurePercent, byMail, webhookUrl } = settings ?? NO_SETTINGS;
    return {
      low_balance: lowBalance === null ? null : formatCredits(lowBalance),
      budget_percents: [...budgetPercents],
      failure_percent: failurePercent,
      by_mail: byMail,
      webhook_url: webhookUrl,
      recipients,
      sends_mail: mailer.sends,
      is_set: settings !== undefined,
    };
  };
  return {
    listAlerts: async (call) => {
      const limit = pageLimit(call.query);
      const found = await alerts.list(accountOf(call), limit + 1, bigintCursor(call.query.after));
      const shown = found.slice(0, limit);
      const next = found.length > limit ? shown.at(-1)?.ordinal : undefined;
      return { data: shown.map(alertOf), next: next === undefined ? null : String(next) };
    },
    readAlertSettings: (call) => recordOf(accountOf(call)),
    changeAlertSettings: async (call) => {
      const accountId = accountOf(call);
      const { low_balance: lowBalance, webhook_url: url, by_mail: byMail } = call.body;
      if (byMail && !mailer.sends) {
        throw invalid("by_mail", "The router has no mail server, so it sends no mails");
      }
      const settings = {
        lowBalance: lowBalance === null ? null : (parseCredits(lowBalance) ?? null),
        budgetPercents: call.body.budget_percents,
        failurePercent: call.body.failure_percent,
        byMail,
        webhookUrl: url === null ? null : await checkedUrl(deps, url),
      };
      await alerts.saveSettings(accountId, settings, now());
      const detail = Object.fromEntries(
        Object.entries(call.body).map(([field, value]) => [field, String(value ?? "none")]),
      );
      await recordAudit(deps, call, { action: "alerts.changed", detail });
      return recordOf(accountId);
    },
    testAlert: async (call) => {
      const accountId = accountOf(call);
      await attempts.countAlertTest(accountId);
      const settings = (await alerts.settingsOf(accountId)) ?? NO_SETTINGS;
      if (!settings.byMail && settings.webhookUrl === null) {
        throw invalid("by_mail", "Choose mail or a webhook, and save the settings first");
      }
      await alerts.add(accountId, { kind: "test", facts: {} }, settings, now());
      return undefined;
    },
    rotateAlertSecret: async (call) => {
      const accountId = accountOf(call);
      await attempts.countAlertTest(accountId);
      const { secret } = await webhooks.rotateWebhookSecret({ accountId });
      await recordAudit(deps, call, { action: "alerts.secret_rotated" });
      return { secret };
    },
  };
}

function alertOf(alert: Alert) {
  const { mail, webhook } = alert;
  return { ...writtenAlert(alert), mail, webhook };
}

/** Returns an alert for people, without its deliveries. */
export function writtenAlert({ id, at, kind, facts }: Pick<Alert, "id" | "at" | "kind" | "facts">) {
  const keyId = facts["key_id"];
  const text = sentenceOf({ kind, facts });
  return { id, at: at.toISOString(), kind, text, key_id: keyId === undefined ? null : String(keyId) };
}

/** @throws ServiceError url_not_allowed, invalid_value */
async function checkedUrl({ webhooks }: Pick<ConsoleDeps, "webhooks">, url: string): Promise<string> {
  try {
    return (await webhooks.checkWebhookUrl({ url })).url;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.param !== "url") throw error;
    const message = error.message.replace(/^url /, "The address ");
    throw new ServiceError(error.reason, message, { param: "webhook_url", cause: error });
  }
}

function invalid(param: string, what: string): ServiceError {
  return new ServiceError("invalid_value", `${what} (field "${param}").`, { param });
}
