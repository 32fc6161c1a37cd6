// The top-up card has the form of a payment for admins.
import { Card, Skeleton, Stack, Text, Title } from "@mantine/core";
import { later } from "../../parts/later.tsx";
import { useAccount } from "../../session.ts";

/** Height of the form, in pixels. */
const HEIGHT = 262;
const TopUpForm = later(
  async () => (await import("./top-up-form.tsx")).TopUpForm,
  <Skeleton height={HEIGHT} aria-busy="true" />,
);

export function TopUpCard() {
  const { may } = useAccount();
  return (
    <Card component="section" aria-label="Top up">
      <Stack h="100%" gap="sm">
        <Title order={2} size="h4">
          Top up
        </Title>
        {may("admin") ? <TopUpForm /> : <Text size="sm">An admin of the account tops it up.</Text>}
      </Stack>
    </Card>
  );
}
