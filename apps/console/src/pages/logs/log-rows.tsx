// The rows of the log: a table, or cards on a phone. Only rows near the screen are in the page. A row is one link.
import type { RequestRecord } from "@gr/console-api";
import { Badge, Box, Group, Table, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { secondsText } from "../../parts/figures/figure-text.ts";
import { Time } from "../../parts/figures/figures.tsx";
import { useKeyNames, useModelNames } from "../../parts/lists/names-of.ts";
import { LatencyCell, RequestCost } from "../../parts/lists/request-figures.tsx";
import { RequestStatus } from "../../parts/lists/request-status.tsx";
import { detailOf, summaryOf } from "../../parts/lists/request-summary.ts";
import { useVisibleRows } from "../../parts/lists/visible-rows.ts";
import { Thumbnail } from "../../parts/media/thumbnail.tsx";
import { useAccount } from "../../session.ts";

/** Heights in pixels, also in app.css. */
const ROW = 60;
const CARD = 104;

/** Columns with a class are hidden on narrower screens. */
const COLUMNS = [
  { title: "Time", width: 104 },
  { title: "Request" },
  { title: "Model", width: 152 },
  { title: "Provider", width: 124, className: "log-provider" },
  { title: "Key", width: 116, className: "log-key" },
  { title: "Status", width: 118 },
  { title: "Latency", width: 84, isFigure: true },
  { title: "Cost", width: 104, isFigure: true },
] as const;

export function LogRows({ rows }: { rows: readonly RequestRecord[] }) {
  const isPhone = useMediaQuery("(max-width: 62em)", false, { getInitialValueInEffect: false });
  return isPhone ? <Cards rows={rows} /> : <Rows rows={rows} />;
}

function Rows({ rows }: { rows: readonly RequestRecord[] }) {
  const keys = useKeyNames();
  const models = useModelNames();
  const { around, first, end, before, after } = useVisibleRows<HTMLTableSectionElement>(rows.length, ROW);
  return (
    <Table layout="fixed" className="log-table" aria-rowcount={rows.length + 1}>
      <Table.Thead>
        <Table.Tr>
          {COLUMNS.map((column) => (
            <Table.Th
              key={column.title}
              scope="col"
              {...("width" in column && { w: column.width })}
              {...("className" in column && { className: column.className })}
              {...("isFigure" in column && { ta: "right" })}
            >
              {column.title}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody ref={around}>
        {before > 0 && <tr aria-hidden style={{ height: before }} />}
        {rows.slice(first, end).map((row, index) => (
          <Table.Tr key={row.id} className="log-row" aria-rowindex={first + index + 2}>
            <Table.Td>
              <LogTime at={row.created_at} />
            </Table.Td>
            <Table.Td>
              <Group gap="sm" wrap="nowrap">
                <Thumbnail of={row} />
                <Box miw={0}>
                  <RowLink of={row} />
                  <Text size="xs" c="dimmed" truncate>
                    {detailOf(row)}
                  </Text>
                </Box>
              </Group>
            </Table.Td>
            <Table.Td>
              <Text inherit truncate title={row.model}>
                {models.nameOf(row.model)}
              </Text>
            </Table.Td>
            <Table.Td className="log-provider">
              <Provider of={row} />
            </Table.Td>
            <Table.Td className="log-key">
              <Text inherit truncate c="dimmed">
                {keys.nameOf(row.api_key_id)}
              </Text>
            </Table.Td>
            <Table.Td>
              <RequestStatus of={row} />
            </Table.Td>
            <LatencyCell of={row} />
            <Table.Td ta="right">
              <RequestCost of={row} />
            </Table.Td>
          </Table.Tr>
        ))}
        {after > 0 && <tr aria-hidden style={{ height: after }} />}
      </Table.Tbody>
    </Table>
  );
}

function Cards({ rows }: { rows: readonly RequestRecord[] }) {
  const keys = useKeyNames();
  const models = useModelNames();
  const { around, first, end, before, after } = useVisibleRows<HTMLUListElement>(rows.length, CARD);
  return (
    <ul ref={around} className="log-cards" style={{ paddingTop: before, paddingBottom: after }}>
      {rows.slice(first, end).map((row, index) => (
        <li key={row.id} className="log-card" aria-setsize={rows.length} aria-posinset={first + index + 1}>
          <Group gap="sm" wrap="nowrap" align="flex-start">
            <Thumbnail of={row} />
            <Box flex={1} miw={0}>
              <RowLink of={row} />
              <Text size="xs" c="dimmed" truncate>
                {models.nameOf(row.model)}
              </Text>
            </Box>
            <Text size="sm" component="div" flex="none">
              <RequestCost of={row} />
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap" mt={8}>
            <RequestStatus of={row} />
            <Text size="xs" c="dimmed" truncate flex={1}>
              {[row.latency !== null && secondsText(row.latency), keys.nameOf(row.api_key_id)]
                .filter(Boolean)
                .join(" · ")}
            </Text>
            <Text size="xs" c="dimmed" flex="none" component="div">
              <LogTime at={row.created_at} />
            </Text>
          </Group>
        </li>
      ))}
    </ul>
  );
}

/** Covers the whole row. */
function RowLink({ of: row }: { of: RequestRecord }) {
  const { account_id: account } = useAccount();
  return (
    <Text
      inherit
      fw={500}
      truncate
      className="row-link"
      renderRoot={(props) => (
        <Link
          to="/accounts/$account/logs"
          params={{ account }}
          search={(before) => ({ ...before, request: row.id })}
          resetScroll={false}
          preload={false}
          {...props}
        />
      )}
    >
      {summaryOf(row)}
    </Text>
  );
}

function Provider({ of: { provider, attempts } }: { of: RequestRecord }) {
  const others = attempts.length - 1;
  return (
    <Group gap={6} wrap="nowrap">
      <Text inherit truncate>
        {provider ?? "–"}
      </Text>
      {others > 0 && (
        <Badge color="gray" size="sm" title={`${others} more ${others === 1 ? "attempt" : "attempts"}`}>
          +{others}
        </Badge>
      )}
    </Group>
  );
}

/** Time of the own zone: with seconds today, otherwise with the date. */
function LogTime({ at }: { at: string }) {
  return (
    <Text span inherit c="dimmed">
      <Time at={at} isShort hasSeconds />
    </Text>
  );
}
