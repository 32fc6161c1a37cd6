// A section of a page: a card with a heading, and a link at its right.
import { Card, Group, Title } from "@mantine/core";
import type { ReactNode } from "react";

export function Section(props: { title: string; link?: ReactNode; children: ReactNode }) {
  return (
    <Card component="section" aria-label={props.title}>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">
          {props.title}
        </Title>
        {props.link}
      </Group>
      {props.children}
    </Card>
  );
}
