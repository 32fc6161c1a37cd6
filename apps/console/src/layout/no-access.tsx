// Pages in place of an account that the person cannot open: the session has ended, or the person is no member.
import { Button, Center, Stack, Text, Title } from "@mantine/core";
import { Link, Navigate, useRouterState } from "@tanstack/react-router";

/** Leads to the sign-in page, and from there back to this page. */
export function SessionEnded() {
  const back = useRouterState({ select: ({ location }) => location.href });
  return <Navigate to="/sign-in" search={{ back, ended: "1" }} replace />;
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
