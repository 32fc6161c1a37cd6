// The states that every page has beside its content: waiting, empty, failed, not there, not allowed.

import type { Role } from "@gr/console-api";
import { Alert, Button, Center, Code, Group, Skeleton, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ApiError } from "../../api/api-error.ts";

export function PageWaiting() {
  return (
    <Stack aria-busy="true" aria-label="Loading" p="md">
      <Skeleton height={28} width="30%" />
      <RowsWaiting />
    </Stack>
  );
}

export function RowsWaiting({ rows = 6 }: { rows?: number }) {
  return (
    <Stack gap="xs" aria-busy="true">
      {Array.from({ length: rows }, (_, row) => `row ${row}`).map((row) => (
        <Skeleton key={row} height={34} />
      ))}
    </Stack>
  );
}

/** @param retry asks again */
export function Failure({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) {
  if (error instanceof ApiError && error.code === "role_required") return <NotAllowed />;
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  return (
    <Alert color="red" title="Something went wrong" role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{error instanceof Error ? error.message : String(error)}</Text>
        {requestId && (
          <Text size="sm">
            Request <Code>{requestId}</Code>
          </Text>
        )}
        {retry && (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

export function PageFailure({ error, reset }: { error: unknown; reset: () => void }) {
  return (
    <Stack p="md">
      <Failure error={error} retry={reset} />
    </Stack>
  );
}

export function NotAllowed({ least }: { least?: Role }) {
  return (
    <Alert color="yellow" title="Your role does not allow this">
      {least === undefined
        ? "Ask an admin of the account."
        : `This needs the role ${least} or more. Ask an admin.`}
    </Alert>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Center py="xl" px="md" className="panel">
      <Stack align="center" gap="xs" maw={460}>
        <Text fw={600}>{title}</Text>
        <Text size="sm" c="dimmed" ta="center" component="div">
          {children}
        </Text>
      </Stack>
    </Center>
  );
}

export function PageMissing() {
  return (
    <Center py={80}>
      <Stack align="center">
        <Title order={1} size="h3">
          Page not found
        </Title>
        <Group>
          <Button component={Link} to="/">
            Go to home
          </Button>
        </Group>
      </Stack>
    </Center>
  );
}
