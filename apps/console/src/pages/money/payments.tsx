// Payments are top-ups with their state, receipts and invoices. Addresses of invoices are Stripe's and expire, so each is read when it
// is opened.
import type { PaymentRecord, QueryOf } from "@gr/console-api";
import { Anchor, Badge, Button, Group, Stack, Table, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { call } from "../../api/console-client.ts";
import { Money, Time } from "../../parts/figures/figures.tsx";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { useAct } from "../../parts/forms/act.ts";
import { Empty } from "../../parts/lists/page-states.tsx";
import { PagedRows } from "../../parts/lists/paged-rows.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useAccount, useSession } from "../../session.ts";

const WORDS = { pending: "Pending", completed: "Completed", failed: "Failed", refunded: "Refunded" } as const;
const COLORS = { pending: "blue", completed: "green", failed: "gray", refunded: "orange" } as const;
/** Interval of the list while a payment has no confirmation. */
const PENDING_MS = 3_000;
const USUAL_MS = 30_000;

export function Payments({ only }: { only: string | undefined }) {
  const filter = useFilter();
  return (
    <Stack>
      {only !== undefined && (
        <Group>
          <Button variant="default" size="xs" onClick={() => void filter({ payment: null })}>
            Show all payments
          </Button>
        </Group>
      )}
      <PaymentRows
        query={only === undefined ? {} : { id: only }}
        empty={<Empty title="No payments yet">Top up to start.</Empty>}
      />
    </Stack>
  );
}

export function Invoices() {
  const { may } = useAccount();
  const { takes_payments } = useSession();
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          Stripe writes an invoice for each top-up, with your address and tax ID.
        </Text>
        {takes_payments && may("admin") && <BillingDetails />}
      </Group>
      <PaymentRows
        query={{ is_invoiced: "true" }}
        empty={<Empty title="No invoices yet">A top-up has its invoice when it is paid.</Empty>}
      />
    </Stack>
  );
}

/** Leads to the page of Stripe with address, tax ID and all invoices. */
function BillingDetails() {
  const { account_id: account } = useAccount();
  const open = useAct({
    send: () => call("openBillingDetails", { path: { account } }),
    after: ({ url }) => window.location.assign(url),
  });
  return (
    <Button
      variant="default"
      size="xs"
      loading={open.isPending || open.isSuccess}
      onClick={() => open.mutate()}
    >
      Address and tax ID
    </Button>
  );
}

function PaymentRows({ query, empty }: { query: QueryOf<"listPayments">; empty: ReactNode }) {
  const { account_id: account } = useAccount();
  return (
    <PagedRows
      queryKey={["payments", account, query]}
      read={(after, signal) =>
        call("listPayments", { path: { account }, query: { ...query, ...(after && { after }) }, signal })
      }
      again={(payments) => (payments.some(({ status }) => status === "pending") ? PENDING_MS : USUAL_MS)}
      empty={empty}
    >
      {(payments) => (
        <RowsTable
          heads={["Time", "Status", "By", "At Stripe", "Amount", "Refunded"]}
          figures={2}
          minWidth={720}
        >
          {payments.map((payment) => (
            <PaymentRow key={payment.id} payment={payment} />
          ))}
        </RowsTable>
      )}
    </PagedRows>
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
          {WORDS[payment.status]}
        </Badge>
        {payment.needs_operator && (
          <Text size="xs" c="dimmed">
            The operator reviews this payment.
          </Text>
        )}
        {payment.failure !== null && (
          <Text size="xs" c="dimmed" className="break-anywhere">
            {payment.failure}
          </Text>
        )}
      </Table.Td>
      <Table.Td className="break-anywhere">
        {payment.is_automatic ? `Auto top-up, set by ${payment.asked_by}` : payment.asked_by}
      </Table.Td>
      <Table.Td>
        <Group gap="sm" wrap="nowrap">
          {payment.checkout_url !== null && may("admin") && <Anchor href={payment.checkout_url}>Pay</Anchor>}
          {payment.receipt_url !== null && (
            <Anchor href={payment.receipt_url} target="_blank" rel="noreferrer">
              Receipt
            </Anchor>
          )}
          {payment.has_invoice && may("admin") && <InvoiceLink payment={payment.id} />}
        </Group>
      </Table.Td>
      <Table.Td ta="right">
        <Money usd={payment.amount} />
      </Table.Td>
      <Table.Td ta="right">{payment.reversed === "0.0000" ? "–" : <Money usd={payment.reversed} />}</Table.Td>
    </Table.Tr>
  );
}

function InvoiceLink({ payment }: { payment: string }) {
  const { account_id: account } = useAccount();
  const open = useAct({
    send: () => call("readInvoice", { path: { account, id: payment } }),
    after: ({ url }) => window.location.assign(url),
  });
  return (
    <Anchor component="button" type="button" disabled={open.isPending} onClick={() => open.mutate()}>
      Invoice
    </Anchor>
  );
}
