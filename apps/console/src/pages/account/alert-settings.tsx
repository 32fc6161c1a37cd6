// The settings of an account's alerts: thresholds, and the ways to send them. The first form has suggestions.
import { type AlertSettingsRecord, alertSettingsBody, BUDGET_PERCENTS } from "@gr/console-api";
import { Alert, Button, Checkbox, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { call } from "../../api/console-client.ts";
import { shortDecimal } from "../../parts/figures/figure-text.ts";
import { useAct } from "../../parts/forms/act.ts";
import { CopyField } from "../../parts/forms/copy-text.tsx";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { useAccount } from "../../session.ts";

/** Values of inputs: "" for an unset field. */
interface SettingFields {
  readonly low_balance: string;
  readonly budget_percents: string[];
  readonly failure_percent: string;
  readonly by_mail: boolean;
  readonly webhook_url: string;
}

const SUGGESTED = { low_balance: "5", budget_percents: ["80", "100"], failure_percent: "20" };

function fieldsOf(settings: AlertSettingsRecord): SettingFields {
  const { is_set, sends_mail, low_balance, budget_percents, failure_percent } = settings;
  if (!is_set) return { ...SUGGESTED, by_mail: sends_mail, webhook_url: "" };
  return {
    low_balance: shortDecimal(low_balance ?? ""),
    budget_percents: budget_percents.map(String),
    failure_percent: failure_percent === null ? "" : String(failure_percent),
    by_mail: settings.by_mail,
    webhook_url: settings.webhook_url ?? "",
  };
}

function bodyOf({ low_balance, budget_percents, failure_percent, by_mail, webhook_url }: SettingFields) {
  const balance = low_balance.trim().replace(/^\$/, "");
  return {
    low_balance: balance === "" ? null : balance,
    budget_percents: BUDGET_PERCENTS.filter((percent) => budget_percents.includes(String(percent))),
    failure_percent: failure_percent.trim() === "" ? null : Number(failure_percent),
    by_mail,
    webhook_url: webhook_url.trim() === "" ? null : webhook_url.trim(),
  };
}

export function AlertSettingsDialog({
  settings,
  close,
}: {
  settings: AlertSettingsRecord;
  close: () => void;
}) {
  const { account_id: account } = useAccount();
  const form = useForm<SettingFields>({
    initialValues: fieldsOf(settings),
    validate: byRules<SettingFields>(alertSettingsBody, bodyOf),
  });
  const save = useAct({
    send: (fields: SettingFields) => call("changeAlertSettings", { path: { account }, body: bodyOf(fields) }),
    changes: [
      ["alert settings", account],
      ["alerts", account],
      ["audit", account],
    ],
    done: "The alerts are changed.",
    after: close,
    showAt: (error) => showAtField(form, error),
  });
  return (
    <Modal opened onClose={close} title="Alerts">
      <form onSubmit={form.onSubmit((fields) => save.mutate(fields))} noValidate>
        <Stack>
          <TextInput
            label="Balance below, USD"
            description="Empty: no alert."
            placeholder="no alert"
            inputMode="decimal"
            data-autofocus
            {...form.getInputProps("low_balance")}
          />
          <Checkbox.Group
            label="Budgets"
            description="When a key, a member or a customer has spent this part of its limit, once in each period."
            {...form.getInputProps("budget_percents")}
          >
            <Group mt="xs">
              {BUDGET_PERCENTS.map((percent) => (
                <Checkbox key={percent} value={String(percent)} label={`${percent} %`} />
              ))}
            </Group>
          </Checkbox.Group>
          <TextInput
            label="Failed requests, %"
            description="Of at least 20 requests within an hour. Empty: no alert."
            placeholder="no alert"
            inputMode="numeric"
            {...form.getInputProps("failure_percent")}
          />
          <Checkbox
            label="Send mails to the owners and admins"
            description={
              settings.sends_mail ? settings.recipients.join(", ") : "The router has no mail server."
            }
            disabled={!settings.sends_mail}
            {...form.getInputProps("by_mail", { type: "checkbox" })}
          />
          <TextInput
            label="Webhook"
            description="An address that receives a signed message for each alert. Empty: none."
            placeholder="https://example.com/hooks/alerts"
            {...form.getInputProps("webhook_url")}
          />
          <SigningSecret />
          <Button type="submit" loading={save.isPending}>
            Save
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

/** A new secret is shown once, here. */
function SigningSecret() {
  const { account_id: account } = useAccount();
  const [secret, setSecret] = useState<string>();
  const rotate = useAct({
    send: () => call("rotateAlertSecret", { path: { account } }),
    changes: [["audit", account]],
    after: (answer) => setSecret(answer.secret),
  });
  if (secret !== undefined) {
    return (
      <Alert color="yellow" title="Copy this secret now. You will not be able to see it again.">
        <CopyField value={secret} label="the signing secret" />
      </Alert>
    );
  }
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="xs" c="dimmed">
        All webhooks of the account have one signing secret. The secret before signs for 24 hours more.
      </Text>
      <Button
        variant="default"
        size="xs"
        style={{ flexShrink: 0 }}
        loading={rotate.isPending}
        onClick={() => rotate.mutate()}
      >
        New secret
      </Button>
    </Group>
  );
}
