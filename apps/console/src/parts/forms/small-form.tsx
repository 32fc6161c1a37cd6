// The small form is the card of sign-in, sign-up and similar pages.
import { Paper, Stack, Title } from "@mantine/core";
import type { FormEventHandler, ReactNode } from "react";

export function SmallForm(props: {
  title: string;
  onSubmit?: FormEventHandler<HTMLFormElement>;
  children: ReactNode;
}) {
  return (
    <Paper withBorder p="lg" maw={420} mx="auto" mt="xl">
      <form onSubmit={props.onSubmit} noValidate>
        <Stack>
          <Title order={1} size="h3">
            {props.title}
          </Title>
          {props.children}
        </Stack>
      </form>
    </Paper>
  );
}
