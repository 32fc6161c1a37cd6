// A figure of the operator area, with its name and a note.
import { Card, Text } from "@mantine/core";
import type { ReactNode } from "react";

export function Figure({ name, note, children }: { name: string; note?: ReactNode; children: ReactNode }) {
  return (
    <Card padding="md">
      <Text size="sm" c="dimmed" fw={500}>
        {name}
      </Text>
      <Text className="tile-value exact-value" component="div">
        {children}
      </Text>
      <Text size="xs" c="dimmed" mih="1.2rem" component="div">
        {note}
      </Text>
    </Card>
  );
}
