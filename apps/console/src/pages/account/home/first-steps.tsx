// First steps lead a new account to its first request. A step turns green when it is done, and the card stays until the person
// hides it.
import type { HomeRecord } from "@gr/console-api";
import { Anchor, Button, Card, Group, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { FirstRequest } from "../../../parts/first-request.tsx";

type Steps = HomeRecord["first_steps"];

const memoryOf = (account: string) => `generation-router.first-steps.${account}`;

export function FirstSteps({ account, steps }: { account: string; steps: Steps }) {
  const memory = memoryOf(account);
  const [state, setState] = useState(() => localStorage.getItem(memory));
  const isDone = steps.has_deposit && steps.has_key && steps.has_request;
  if (state === "hidden" || (isDone && state !== "begun")) return null;
  const note = (next: "begun" | "hidden") => {
    localStorage.setItem(memory, next);
    setState(next);
  };
  if (state === null) note("begun");
  return (
    <Card component="section" aria-label="First steps">
      <Stack gap="sm">
        <Group justify="space-between">
          <Title order={2} size="h4">
            First steps
          </Title>
          <Button variant="subtle" size="compact-sm" onClick={() => note("hidden")}>
            Hide
          </Button>
        </Group>
        <Step done={steps.has_deposit}>
          Put credit on the account:{" "}
          <Anchor
            renderRoot={(props) => <Link to="/accounts/$account/credits" params={{ account }} {...props} />}
          >
            Credits
          </Anchor>
        </Step>
        <Step done={steps.has_key}>
          Create a key:{" "}
          <Anchor
            renderRoot={(props) => <Link to="/accounts/$account/keys" params={{ account }} {...props} />}
          >
            API keys
          </Anchor>
        </Step>
        <Step done={steps.has_request}>Send the first request. This turns green when it arrives:</Step>
        <FirstRequest />
      </Stack>
    </Card>
  );
}

function Step({ done, children }: { done: boolean; children: ReactNode }) {
  return (
    <Group gap="sm" wrap="nowrap">
      <ThemeIcon
        size="sm"
        radius="xl"
        color={done ? "green" : "gray"}
        variant={done ? "filled" : "light"}
        role="img"
        aria-label={done ? "done" : "not done yet"}
      >
        {done ? "✓" : "·"}
      </ThemeIcon>
      <Text component="div">{children}</Text>
    </Group>
  );
}
