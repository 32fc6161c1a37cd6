// The dialogs of automatic top-ups: the rule, and the removal of the card.
import { type AutoTopUpRecord, autoTopUpBody } from "@gr/console-api";
import { Alert, Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/console-client.ts";
import { Confirm } from "../../parts/dialogs/confirm.tsx";
import { moneyText, shortDecimal } from "../../parts/figures/figure-text.ts";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { useAccount } from "../../session.ts";
import { nameOf, useRuleChange } from "./auto-top-up-rule.ts";

const SUGGESTED = { threshold: "25", amount: "100", monthly_limit: "500" };

interface RuleFields {
  readonly threshold: string;
  readonly amount: string;
  readonly monthly_limit: string;
}

const amountOf = (text: string) => text.trim().replace(/^\$/, "");
const bodyOf = (fields: RuleFields) => ({
  is_on: true,
  threshold: amountOf(fields.threshold),
  amount: amountOf(fields.amount),
  monthly_limit: amountOf(fields.monthly_limit),
});

export function RuleDialog({ rule, close }: { rule: AutoTopUpRecord; close: () => void }) {
  const { account_id: account } = useAccount();
  const home = useQueryClient().getQueryData<{ readonly balance: string }>(["home", account]);
  const form = useForm<RuleFields>({
    initialValues: {
      threshold: shortDecimal(rule.threshold ?? SUGGESTED.threshold),
      amount: shortDecimal(rule.amount ?? SUGGESTED.amount),
      monthly_limit: shortDecimal(rule.monthly_limit ?? SUGGESTED.monthly_limit),
    },
    validate: byRules(autoTopUpBody, bodyOf),
  });
  const change = useRuleChange(close, (error) => showAtField(form, error));
  const body = bodyOf(form.values);
  const isRule = autoTopUpBody.safeParse(body).success;
  // Only for the sentence; the server compares exact amounts.
  const isAtOnce = isRule && home !== undefined && Number(home.balance) < Number(body.threshold);
  return (
    <Modal opened onClose={close} title="Auto top-up">
      <form onSubmit={form.onSubmit((fields) => change.mutate(bodyOf(fields)))} noValidate>
        <Stack>
          <TextInput
            label="When the balance falls below, USD"
            inputMode="decimal"
            data-autofocus
            {...form.getInputProps("threshold")}
          />
          <TextInput
            label="Add, USD"
            description="At least the threshold, so that one top-up is enough"
            inputMode="decimal"
            {...form.getInputProps("amount")}
          />
          <TextInput
            label="At most each month (UTC), USD"
            description="No automatic charge of a month goes beyond it"
            inputMode="decimal"
            {...form.getInputProps("monthly_limit")}
          />
          {isRule && rule.card !== null && (
            <Text size="sm">
              {nameOf(rule.card)} is charged {moneyText(body.amount)} when the balance falls below{" "}
              {moneyText(body.threshold)}, and never more than {moneyText(body.monthly_limit)} in a month. A
              refused charge switches this off, and the owners and admins get a mail.
            </Text>
          )}
          {isAtOnce && (
            <Alert color="yellow">
              The balance is below {moneyText(body.threshold)}: the card is charged at once.
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={change.isPending}>
              {rule.is_on ? "Save" : "Switch on"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

export function RemoveDialog({ close }: { close: () => void }) {
  const { account_id: account } = useAccount();
  const remove = useAct({
    send: () => call("removeCard", { path: { account } }),
    changes: [
      ["auto top-up", account],
      ["audit", account],
    ],
    done: "The card is removed.",
    after: close,
  });
  return (
    <Confirm
      title="Remove the saved card?"
      button="Remove"
      isPending={remove.isPending}
      act={() => remove.mutate()}
      close={close}
    >
      Automatic top-ups are switched off. Requests stop when the balance is used up.
    </Confirm>
  );
}
