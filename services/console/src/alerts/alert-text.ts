// AlertText is the sentence of an alert, for mails and the history, and the event of its webhook.
import type { AlertKind } from "../alert-kind.ts";
import type { AlertFacts } from "./alert-rules.ts";

export interface WrittenAlert {
  readonly kind: AlertKind;
  readonly facts: AlertFacts;
}

export function sentenceOf({ kind, facts }: WrittenAlert): string {
  switch (kind) {
    case "low_balance":
      return `The balance is ${dollars(facts["balance"])}, below ${dollars(facts["threshold"])}.`;
    case "budget": {
      const { percent, spent, spend_limit: limit } = facts;
      const name = facts["key_name"] ?? facts["budget_name"];
      const level = levelOf(facts);
      const [owner, limited] =
        level === "account"
          ? [`The budget "${name}" of the account`, "limit"]
          : [`The ${level} "${name}"`, "budget"];
      return `${owner} has spent ${percent} % of its ${limited}: ${dollars(spent)} of ${dollars(limit)}.`;
    }
    case "failure_rate": {
      const { failed, ended, threshold } = facts;
      return `${failed} of the last ${ended} requests within an hour have failed; the threshold is ${threshold} %.`;
    }
    case "top_up_failed": {
      const { amount, reason, payment, event } = facts;
      if (event === "reversed") {
        const what = payment === "automatic" ? "automatic top-up" : "top-up";
        return `The ${what} of ${dollars(amount)} was refunded or disputed, and automatic top-ups are switched off.`;
      }
      const why = reason === "" ? "" : ` The reason: ${String(reason).replace(/\.?$/, ".")}`;
      return `The automatic top-up of ${dollars(amount)} failed, and automatic top-ups are switched off.${why}`;
    }
    case "top_up_limit": {
      const { balance, threshold, monthly_limit: limit } = facts;
      const low = `The balance is ${dollars(balance)}, below ${dollars(threshold)}.`;
      return `${low} There is no automatic top-up: the limit of ${dollars(limit)} in this month (UTC) is reached.`;
    }
    case "test":
      return "This is a test. Alerts of this account arrive in this way.";
  }
}

/** Alerts from before budgets above keys have no level. */
function levelOf(facts: AlertFacts): string {
  return String(facts["level"] ?? "key");
}

/** Cents, unless the last two of the four decimals are needed. @param usd such as "-1234.5000" */
function dollars(usd: string | number | undefined): string {
  const [whole = "0", fraction = ""] = String(usd)
    .replace("-", "")
    .replace(/(\.\d\d)00$/, "$1")
    .split(".");
  const sign = String(usd).startsWith("-") ? "-" : "";
  const grouped = /^\d+$/.test(whole) ? BigInt(whole).toLocaleString("en") : whole;
  return `${sign}$${grouped}.${fraction}`;
}

export function subjectOf(accountName: string, alerts: readonly WrittenAlert[]): string {
  const [first] = alerts;
  const what = alerts.length > 1 || first === undefined ? `${alerts.length} alerts` : titleOf(first);
  return `${what} · ${oneLine(accountName)}`;
}

function titleOf({ kind, facts }: WrittenAlert): string {
  if (kind === "budget")
    return levelOf(facts) === "account" ? "Budget of the account" : `Budget of a ${levelOf(facts)}`;
  return facts["event"] === "reversed" ? "Automatic top-ups switched off" : TITLES[kind];
}

const TITLES: Readonly<Record<Exclude<AlertKind, "budget">, string>> = {
  low_balance: "Low balance",
  failure_rate: "Failing requests",
  top_up_failed: "Automatic top-up failed",
  top_up_limit: "Limit of automatic top-ups",
  test: "Test of alerts",
};

/** Type of the webhook's event. */
export function eventTypeOf(kind: AlertKind): string {
  return `alert.${kind}`;
}

/** A name of a person or account must not begin a new header or line of a mail. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}

/** Text of a mail about several alerts. */
export function mailText(accountName: string, alerts: readonly WrittenAlert[]): string {
  const lines = alerts.map((alert) => `- ${oneLine(sentenceOf(alert))}`);
  return `Alerts of the account "${oneLine(accountName)}":\n\n${lines.join("\n")}`;
}
