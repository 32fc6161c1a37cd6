// Guarantees of Markdown: a model's text becomes elements, never HTML, and links lead to the web only.
import { afterEach, expect, test } from "@jest/globals";
import { MantineProvider } from "@mantine/core";
import { cleanup, render } from "@testing-library/react";
import { Markdown } from "./markdown.tsx";

afterEach(cleanup);

function shown(text: string): HTMLElement {
  return render(
    <MantineProvider env="test">
      <Markdown text={text} />
    </MantineProvider>,
  ).container;
}

test("lists, code, tables and emphasis are elements", () => {
  const page = shown(
    "1. **one**\n2. `two`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nif (a < b) go();\n```",
  );
  expect(page.querySelectorAll("ol > li")).toHaveLength(2);
  expect(page.querySelector("strong")?.textContent).toBe("one");
  expect(page.querySelectorAll("td")).toHaveLength(2);
  expect(page.querySelector("pre")?.textContent).toBe("if (a < b) go();");
});

test("HTML of the text stays text", () => {
  const page = shown('A <b>bold</b> & <img src=x onerror="alert(1)"> word\n\n<script>alert(1)</script>');
  expect(page.querySelector("b, img, script")).toBeNull();
  expect(page.textContent).toContain('<img src=x onerror="alert(1)">');
  expect(page.textContent).toContain("<script>alert(1)</script>");
  expect(page.textContent).toContain(" & ");
});

test("only addresses of the web and of mail are links, and pictures load nothing", () => {
  const page = shown(
    "[good](https://a.example/?q=1&r=2) [bad](javascript:alert(1)) ![pic](https://a.example/p.png)",
  );
  const links = [...page.querySelectorAll("a")];
  expect(links.map((link) => link.getAttribute("href"))).toEqual([
    "https://a.example/?q=1&r=2",
    "https://a.example/p.png",
  ]);
  expect(links.every((link) => link.rel.includes("noopener"))).toBe(true);
  expect(page.textContent).toContain("bad");
  expect(page.querySelector("img")).toBeNull();
});
