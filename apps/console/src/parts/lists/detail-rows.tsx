// Facts about one thing, a name and a value in each row.
import { Table, Text } from "@mantine/core";
import type { ReactNode } from "react";

export function DetailRows({ children }: { children: ReactNode }) {
  return (
    <Table variant="vertical" layout="fixed">
      <Table.Tbody>{children}</Table.Tbody>
    </Table>
  );
}

export function DetailRow({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Table.Tr>
      <Table.Th w={140}>{name}</Table.Th>
      <Table.Td>
        <Text size="sm" component="div" className="break-anywhere">
          {children}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}
