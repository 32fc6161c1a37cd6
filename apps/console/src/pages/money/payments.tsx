// Payments are top-ups: the dialog that begins one, and the state of each.
import { type PaymentRecord, paymentBody, type QueryOf } from "@gr/console-api";
import { Anchor, Badge, Button, Group, Modal, Stack, Table, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { call } from "../../api/console-client.ts";
import { Money, Time } from "../../parts/figures/figures.tsx";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { useFilter } from "../../parts/lists/filters.tsx";
import { Empty } from "../../parts/lists/page-states.tsx";
import { PagedRows } from "../../parts/lists/paged-rows.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useAccount, useSession } from "../../session.ts";

const COLORS = { pending: "blue", completed: "green", failed: "gray", refunded: "orange" } as const;
/** Interval for a customer after a payment, until its confirmation. */
const PENDING_MS = 3_000;
const USUAL_MS = 30_000;

export function TopUp() {
  const { takes_payments } = useSession();
  const { may } = useAccount();
  const [isOpen, setOpen] = useState(false);
  if (!takes_payments || !may("admin")) return null;
  return (
    <>
      <Button onClick={() => setOpen(true)}>Top up</Button>
      <Modal opened={isOpen} onClose={() => setOpen(false)} title="Top up">
        <TopUpForm />
      </Modal>
    </>
  );
}

function TopUpForm() {
  const { account_id: account } = useAccount();
  const form = useForm({
    initialValues: { amount: "" },
    validate: byRules(paymentBody, bodyOf),
  });
  const begin = useAct({
    send: (body: { amount: string }) => call("createPayment", { path: { account }, body }),
    after: ({ url }) => window.location.assign(url),
    showAt: (error) => showAtField(form, error),
  });
  return (
    <form onSubmit={form.onSubmit((values) => begin.mutate(bodyOf(values)))} noValidate>
      <Stack>
        <TextInput
          label="Amount, USD"
          inputMode="decimal"
          placeholder="25.00"
          data-autofocus
          {...form.getInputProps("amount")}
        />
        <Text size="sm" c="dimmed">
          You pay at Stripe. Your credits arrive when Stripe confirms the payment.
        </Text>
        <Group justify="flex-end">
          <Button type="submit" loading={begin.isPending || begin.isSuccess}>
            Continue to payment
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function bodyOf({ amount }: { amount: string }): { amount: string } {
  return { amount: amount.trim().replace(/^\$/, "") };
}

export function Payments({ only }: { only: string | undefined }) {
  const { account_id: account } = useAccount();
  const filter = useFilter();
  const query: QueryOf<"listPayments"> = only === undefined ? {} : { id: only };
  return (
    <Stack>
      {only !== undefined && (
        <Group>
          <Button variant="default" size="xs" onClick={() => void filter({ payment: null })}>
            Show all payments
          </Button>
        </Group>
      )}
      <PagedRows
        queryKey={["payments", account, query]}
        read={(after, signal) =>
          call("listPayments", { path: { account }, query: { ...query, ...(after && { after }) }, signal })
        }
        again={(payments) => (payments.some(({ status }) => status === "pending") ? PENDING_MS : USUAL_MS)}
        empty={<Empty title="No payments yet">Top up to start.</Empty>}
      >
        {(payments) => (
          <RowsTable
            heads={["When", "Status", "By", "At Stripe", "Amount, USD", "Refunded, USD"]}
            figures={2}
            minWidth={720}
          >
            {payments.map((payment) => (
              <PaymentRow key={payment.id} payment={payment} />
            ))}
          </RowsTable>
        )}
      </PagedRows>
    </Stack>
  );
}

function PaymentRow({ payment }: { payment: PaymentRecord }) {
  const { may } = useAccount();
  return (
    <Table.Tr>
      <Table.Td>
        <Time at={payment.created_at} />
      </Table.Td>
      <Table.Td>
        <Badge variant="light" color={COLORS[payment.status]}>
          {payment.status}
        </Badge>
        {payment.needs_operator && (
          <Text size="xs" c="dimmed">
            The operator reviews this payment.
          </Text>
        )}
      </Table.Td>
      <Table.Td className="break-anywhere">{payment.asked_by}</Table.Td>
      <Table.Td>
        {payment.checkout_url !== null && may("admin") && <Anchor href={payment.checkout_url}>Pay</Anchor>}
        {payment.receipt_url !== null && (
          <Anchor href={payment.receipt_url} target="_blank" rel="noreferrer">
            Receipt
          </Anchor>
        )}
      </Table.Td>
      <Table.Td ta="right">
        <Money usd={payment.amount} />
      </Table.Td>
      <Table.Td ta="right">{payment.reversed === "0.0000" ? "–" : <Money usd={payment.reversed} />}</Table.Td>
    </Table.Tr>
  );
}
