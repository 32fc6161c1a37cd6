// The dialog of an operator's action on an account. Each action needs a reason, and gets its id when its dialog opens, so that a
// second click books nothing more.
import { adjustmentBody, depositBody, type OperatedAccount, suspensionBody } from "@gr/console-api";
import { Alert, Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { call } from "../../api/console-client.ts";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";

export type OperatorAction = "deposit" | "adjustment" | "suspension";

interface ActionFields {
  readonly amount: string;
  readonly reason: string;
}

const TITLES = { deposit: "Book a deposit", adjustment: "Adjust the credit" } as const;

export function ActionDialog({
  account,
  action,
  close,
}: {
  account: OperatedAccount;
  action: OperatorAction;
  close: () => void;
}) {
  const [bookingId] = useState(() => crypto.randomUUID());
  const stops = !account.is_suspended;
  const bookingOf = ({ amount, reason }: ActionFields) => ({
    id: bookingId,
    amount: amount.trim().replace("$", ""),
    reason,
  });
  const suspensionOf = ({ reason }: ActionFields) => ({ is_suspended: stops, reason });
  const rules = { deposit: depositBody, adjustment: adjustmentBody, suspension: suspensionBody }[action];
  const form = useForm({
    initialValues: { amount: "", reason: "" },
    validate: byRules<ActionFields>(rules, action === "suspension" ? suspensionOf : bookingOf),
  });
  const act = useAct({
    send: (fields: ActionFields) => {
      const path = { id: account.id };
      if (action === "deposit") return call("bookDeposit", { path, body: bookingOf(fields) });
      if (action === "adjustment") return call("bookAdjustment", { path, body: bookingOf(fields) });
      return call("suspendAccount", { path, body: suspensionOf(fields) });
    },
    changes: [["operator"]],
    done: "Done.",
    after: close,
    showAt: (error) => showAtField(form, error),
  });
  const title = action === "suspension" ? (stops ? "Suspend" : "Lift the suspension") : TITLES[action];
  return (
    <Modal opened onClose={close} title={title}>
      <form onSubmit={form.onSubmit((values) => act.mutate(values))} noValidate>
        <Stack>
          {action === "suspension" && stops && (
            <Alert color="yellow">All keys of the account stop spending. Running requests are charged.</Alert>
          )}
          {action !== "suspension" && (
            <TextInput
              label="Amount, USD"
              {...(action === "adjustment" && { description: "A negative amount withdraws credit." })}
              data-autofocus
              {...form.getInputProps("amount")}
            />
          )}
          <TextInput
            label="Reason"
            description="Members of the account can read it."
            {...form.getInputProps("reason")}
          />
          <Group justify="flex-end">
            <Button type="submit" loading={act.isPending}>
              {title}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
