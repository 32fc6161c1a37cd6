// Markdown of a model as elements. No HTML of the text reaches the page, addresses of links are checked, and pictures are
// shown as links, so that a text loads nothing.
import { Anchor, Code, List, Table, Text, Title } from "@mantine/core";
import { marked, type Token, type Tokens } from "marked";
import { Fragment, memo, type ReactNode } from "react";
import { CodeBlock } from "./forms/copy-text.tsx";

/** Longer text is shown as it is: parsing would stop the page. */
const MOST_CHARACTERS = 200_000;

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  if (text.length > MOST_CHARACTERS) return <Text className="plain-text">{text}</Text>;
  return <div className="markdown">{blocksOf(marked.lexer(text))}</div>;
});

const blocksOf = (tokens: readonly Token[]): ReactNode[] =>
  keyed(tokens).map(([key, token]) => <Fragment key={key}>{blockOf(token)}</Fragment>);

function blockOf(token: Token): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      // The page has headings of its own above.
      return (
        <Title order={4} size="h4">
          {inlineOf(token.tokens)}
        </Title>
      );
    case "code":
      return <CodeBlock code={token.text} label="code of the answer" />;
    case "blockquote":
      return <blockquote>{blocksOf(token.tokens ?? [])}</blockquote>;
    case "hr":
      return <hr />;
    case "list":
      return <ListOf list={token as Tokens.List} />;
    case "table":
      return <TableOf table={token as Tokens.Table} />;
    case "paragraph":
      return <p>{inlineOf(token.tokens)}</p>;
    case "text":
      return "tokens" in token && token.tokens ? inlineOf(token.tokens) : token.text;
    default:
      return <p>{token.raw}</p>;
  }
}

function ListOf({ list: { ordered, start, items } }: { list: Tokens.List }) {
  return (
    <List type={ordered ? "ordered" : "unordered"} {...(ordered && start !== "" && { start })} withPadding>
      {keyed(items).map(([key, { tokens }]) => (
        <List.Item key={key}>{blocksOf(tokens)}</List.Item>
      ))}
    </List>
  );
}

function TableOf({ table: { header, rows } }: { table: Tokens.Table }) {
  return (
    <Table.ScrollContainer minWidth={300}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            {keyed(header).map(([key, cell]) => (
              <Table.Th key={key}>{inlineOf(cell.tokens)}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keyed(rows).map(([key, cells]) => (
            <Table.Tr key={key}>
              {keyed(cells).map(([column, cell]) => (
                <Table.Td key={column}>{inlineOf(cell.tokens)}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

const inlineOf = (tokens: readonly Token[] | undefined): ReactNode[] =>
  keyed(tokens ?? []).map(([key, token]) => <Fragment key={key}>{inlineToken(token)}</Fragment>);

function inlineToken(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inlineOf(token.tokens)}</strong>;
    case "em":
      return <em>{inlineOf(token.tokens)}</em>;
    case "del":
      return <del>{inlineOf(token.tokens)}</del>;
    case "codespan":
      return <Code>{token.text}</Code>;
    case "br":
      return <br />;
    case "link":
      return <LinkTo href={token.href}>{inlineOf(token.tokens)}</LinkTo>;
    case "image":
      return <LinkTo href={token.href}>{token.text || token.href}</LinkTo>;
    case "escape":
      return token.text;
    case "text":
      return "tokens" in token && token.tokens ? inlineOf(token.tokens) : token.text;
    default:
      return token.raw;
  }
}

/** Only addresses of the web and of mail are links. */
function LinkTo({ href, children }: { href: string; children: ReactNode }) {
  if (!/^(https?:\/\/|mailto:)/i.test(href)) return children;
  return (
    <Anchor href={href} target="_blank" rel="noopener noreferrer nofollow" inherit>
      {children}
    </Anchor>
  );
}

/** Parts of a text have no name; their place is their key. */
function keyed<Part>(parts: readonly Part[]): [string, Part][] {
  return parts.map((part, index) => [`part ${index}`, part]);
}
