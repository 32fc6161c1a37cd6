// Pages in place of an account that the person cannot open: the session has ended, or the person is no member.
import { Button, Center, Stack, Text, Title } from "@mantine/core";
import { Link, useRouter } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { PageWaiting } from "../parts/lists/page-states.tsx";

/** Leads to the sign-in page, and from there back to this page. */
export function SessionEnded() {
  const router = useRouter();
  // The address at the first render: the next one is that of the sign-in page, while this page is still shown.
  const [back] = useState(() => router.state.location.href);
  useEffect(() => {
    void router.navigate({ to: "/sign-in", search: { back, ended: "1" }, replace: true });
  }, [router, back]);
  return <PageWaiting />;
}

export function NotMember() {
  return (
    <Center py={80}>
      <Stack align="center" gap="sm">
        <Title order={1} size="h3">
          You are not a member of this account
        </Title>
        <Text c="dimmed">The account does not exist, or an admin has removed you from it.</Text>
        <Button renderRoot={(props) => <Link to="/" {...props} />}>Go to my accounts</Button>
      </Stack>
    </Center>
  );
}
