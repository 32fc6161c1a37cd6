// A table with a head, in a card of its own if it is in none. It is scrolled sideways where it is wider than the screen; on a phone each row is a card, and each
// value has the name of its column before it.
import { Table } from "@mantine/core";
import type { ReactNode } from "react";

export interface RowsTableProps {
  readonly heads: readonly string[];
  /** Number of last columns with figures, which are right-aligned. */
  readonly figures?: number;
  /** True: the last column contains the actions of a row. */
  readonly hasActions?: boolean;
  readonly minWidth: number;
  /** Rows. */
  readonly children: ReactNode;
}

export function RowsTable({ heads, figures = 0, hasActions = false, minWidth, children }: RowsTableProps) {
  const names = heads.map((head, index) => [`--head-${index + 1}`, JSON.stringify(head)]);
  return (
    <Table.ScrollContainer
      minWidth={minWidth}
      className={`rows-table panel${hasActions ? " has-actions" : ""}`}
    >
      <Table style={Object.fromEntries(names)}>
        <Table.Thead>
          <Table.Tr>
            {heads.map((head, index) => (
              <Table.Th key={head} scope="col" {...(index >= heads.length - figures && { ta: "right" })}>
                {head}
              </Table.Th>
            ))}
            {hasActions && <Table.Th scope="col" aria-label="Actions" />}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
