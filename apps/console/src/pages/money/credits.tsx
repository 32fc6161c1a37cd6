// The credits page shows the balance, ways to top it up, and each change of it: the ledger, payments and invoices, each as CSV.
import type { QueryOf } from "@gr/console-api";
import { Button, Card, Group, SimpleGrid, Stack, Tabs, Title } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useSearch } from "@tanstack/react-router";
import { urlOf } from "../../api/console-client.ts";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { useAccount, useSession } from "../../session.ts";
import { AutoTopUp } from "./auto-top-up.tsx";
import { BalanceCard } from "./balance-card.tsx";
import { Ledger, type LedgerSearch, ledgerQuery } from "./ledger.tsx";
import { Invoices, Payments } from "./payments.tsx";
import { TopUpCard } from "./top-up-card.tsx";

const VIEWS = { ledger: "Ledger", payments: "Payments", invoices: "Invoices" } as const;
type View = keyof typeof VIEWS;

export function Credits() {
  const { may } = useAccount();
  const { takes_payments } = useSession();
  const search = useSearch({ strict: false });
  const filter = useFilter();
  const view: View = search.view === "payments" || search.view === "invoices" ? search.view : "ledger";
  const ledger: LedgerSearch = search;
  const isShared = takes_payments && may("admin");
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Credits
        </Title>
        <Download view={view} search={ledger} />
      </Group>
      <SimpleGrid cols={{ base: 1, sm: takes_payments ? 2 : 1, md: isShared ? 3 : takes_payments ? 2 : 1 }}>
        <BalanceCard />
        {takes_payments && <TopUpCard />}
        {isShared && <AutoTopUp />}
      </SimpleGrid>
      <Card padding={0}>
        <Tabs
          value={view}
          onChange={(next) => void filter({ view: next === "ledger" ? null : next, payment: null })}
        >
          <Tabs.List px="md">
            {Object.entries(VIEWS).map(([value, label]) => (
              <Tabs.Tab key={value} value={value} py="md">
                {label}
              </Tabs.Tab>
            ))}
          </Tabs.List>
        </Tabs>
        <Stack p="md">
          {view === "ledger" && <Ledger search={ledger} />}
          {view === "payments" && <Payments only={search.payment} />}
          {view === "invoices" && <Invoices />}
        </Stack>
      </Card>
    </Stack>
  );
}

/** The file has the rows of the shown tab. */
function Download({ view, search }: { view: View; search: LedgerSearch }) {
  const { account_id: account } = useAccount();
  const invoiced: QueryOf<"exportPayments"> = view === "invoices" ? { is_invoiced: "true" } : {};
  const href =
    view === "ledger"
      ? urlOf("exportLedger", { account }, ledgerQuery(search, Date.now()))
      : urlOf("exportPayments", { account }, invoiced);
  return (
    <Button component="a" variant="default" leftSection={<IconDownload size={16} />} href={href} download>
      {VIEWS[view]} CSV
    </Button>
  );
}
