// The operated account page shows an operator one account: credit, people, audit log and actions. Each action needs a
// reason, and gets its id when its dialog opens, so that a second click books nothing more.
import { adjustmentBody, depositBody, type OperatedAccount, suspensionBody } from "@gr/console-api";
import {
  Alert,
  Badge,
  Button,
  Card,
  Group,
  Modal,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../../api/console-client.ts";
import { Money } from "../../parts/figures/figures.tsx";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { Empty, Failure, PageMissing, RowsWaiting } from "../../parts/lists/page-states.tsx";
import { PagedRows } from "../../parts/lists/paged-rows.tsx";
import { useSession } from "../../session.ts";
import { AuditTable } from "../account/audit.tsx";

type Deed = "deposit" | "adjustment" | "suspension";

export function OperatedAccountPage() {
  const { is_operator } = useSession();
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "account", id],
    queryFn: ({ signal }) => call("readAccountAsOperator", { path: { id }, signal }),
    enabled: is_operator,
  });
  const [deed, setDeed] = useState<Deed>();
  if (!is_operator) return <PageMissing />;
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <RowsWaiting />;
  return (
    <Stack>
      <Group justify="space-between">
        <Group>
          <Title order={1} size="h2">
            {data.name}
          </Title>
          {data.is_suspended && <Badge color="red">suspended</Badge>}
        </Group>
        <Group gap="xs">
          <Button onClick={() => setDeed("deposit")}>Book a deposit</Button>
          <Button variant="default" onClick={() => setDeed("adjustment")}>
            Adjust
          </Button>
          <Button variant="default" color="red" onClick={() => setDeed("suspension")}>
            {data.is_suspended ? "Let it spend again" : "Suspend"}
          </Button>
        </Group>
      </Group>
      <Figures account={data} />
      <Title order={2} size="h4">
        What was done
      </Title>
      <PagedRows
        queryKey={["operator", "audit", id]}
        read={(after, signal) =>
          call("readAuditAsOperator", { path: { id }, query: after === undefined ? {} : { after }, signal })
        }
        empty={<Empty title="Nothing was changed yet" />}
      >
        {(entries) => <AuditTable entries={entries} />}
      </PagedRows>
      {deed !== undefined && <DeedDialog account={data} deed={deed} close={() => setDeed(undefined)} />}
    </Stack>
  );
}

function Figures({ account }: { account: OperatedAccount }) {
  const figures = [
    ["Balance", account.balance],
    ["Deposited", account.deposited],
    ["Held", account.held],
  ] as const;
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        {figures.map(([label, usd]) => (
          <Card key={label} withBorder>
            <Text size="sm" c="dimmed">
              {label}
            </Text>
            <Text size="xl">
              <Money usd={usd} strong />
            </Text>
          </Card>
        ))}
      </SimpleGrid>
      <Text size="sm" className="break-anywhere">
        {account.id} · {account.people.map(({ email, role }) => `${email} (${role})`).join(", ") || "nobody"}
      </Text>
    </>
  );
}

interface DeedFields {
  readonly amount: string;
  readonly reason: string;
}

const TITLES = { deposit: "Book a deposit", adjustment: "Adjust the credit" } as const;

function DeedDialog({ account, deed, close }: { account: OperatedAccount; deed: Deed; close: () => void }) {
  const [bookingId] = useState(() => crypto.randomUUID());
  const stops = !account.is_suspended;
  const bookingOf = ({ amount, reason }: DeedFields) => ({
    id: bookingId,
    amount: amount.trim().replace("$", ""),
    reason,
  });
  const suspensionOf = ({ reason }: DeedFields) => ({ is_suspended: stops, reason });
  const rules = { deposit: depositBody, adjustment: adjustmentBody, suspension: suspensionBody }[deed];
  const form = useForm({
    initialValues: { amount: "", reason: "" },
    validate: byRules<DeedFields>(rules, deed === "suspension" ? suspensionOf : bookingOf),
  });
  const act = useAct({
    send: (fields: DeedFields) => {
      const path = { id: account.id };
      if (deed === "deposit") return call("bookDeposit", { path, body: bookingOf(fields) });
      if (deed === "adjustment") return call("bookAdjustment", { path, body: bookingOf(fields) });
      return call("suspendAccount", { path, body: suspensionOf(fields) });
    },
    changes: [["operator"]],
    done: "Done.",
    after: close,
    showAt: (error) => showAtField(form, error),
  });
  const title = deed === "suspension" ? (stops ? "Suspend" : "Let it spend again") : TITLES[deed];
  return (
    <Modal opened onClose={close} title={title}>
      <form onSubmit={form.onSubmit((values) => act.mutate(values))} noValidate>
        <Stack>
          {deed === "suspension" && stops && (
            <Alert color="yellow">None of its keys spends any more. What runs is charged.</Alert>
          )}
          {deed !== "suspension" && (
            <TextInput
              label="Amount, USD"
              {...(deed === "adjustment" && { description: "Below zero takes credit." })}
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
