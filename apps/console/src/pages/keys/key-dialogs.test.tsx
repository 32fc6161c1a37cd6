// Guarantee of the dialog of a new secret: it closes only after the secret was copied or confirmed.

import { afterEach, expect, test } from "@jest/globals";
import { MantineProvider } from "@mantine/core";
import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { closeApp } from "../../test/open-app.tsx";
import { Secret } from "./key-dialogs.tsx";

afterEach(closeApp);

test("a second Enter, Escape and a missing tick keep the secret on the page", async () => {
  let closed = 0;
  render(
    <MantineProvider env="test">
      <Secret secret="gr_live_secret" close={() => (closed += 1)} />
    </MantineProvider>,
  );
  // Enter copies: the button has the focus.
  await waitFor(() => expect(document.activeElement?.getAttribute("aria-label")).toBe("Copy the key"));
  expect(screen.queryByRole("button", { name: "Close" })).toBeNull();
  fireEvent.keyDown(screen.getByRole("dialog"), { key: "Escape" });
  fireEvent.click(screen.getByRole("button", { name: "Done" }));
  expect(closed).toBe(0);
  screen.getByText("gr_live_secret");
  fireEvent.click(screen.getByLabelText("I have stored the key"));
  fireEvent.click(screen.getByRole("button", { name: "Done" }));
  expect(closed).toBe(1);
});
