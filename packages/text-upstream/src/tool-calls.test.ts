// Calls of tools are counted as providers bill them: a search and not the pages it opens, a container and not each run in it.
import { expect, test } from "@jest/globals";
import { toolCalls } from "./tool-calls.ts";

const search = (type: string) => ({ type: "web_search_call", status: "completed", action: { type } });
const run = (container_id: string) => ({ type: "code_interpreter_call", status: "completed", container_id });

test("searches count, opened pages do not", () => {
  const output = [search("search"), search("open_page"), search("find_in_page"), search("search")];
  expect(toolCalls({}, { output })).toEqual({ web_search_call: 2 });
});

test("a container counts once", () => {
  expect(toolCalls({}, { output: [run("a"), run("a"), run("b")] })).toEqual({ code_interpreter_call: 2 });
});

test("calls that the client runs, or that failed, do not count", () => {
  const output = [
    { type: "function_call" },
    { type: "custom_tool_call" },
    { type: "local_shell_call", status: "completed" },
    { type: "apply_patch_call", status: "completed" },
    { type: "computer_call", status: "completed" },
    { type: "tool_search_call", execution: "client", status: "completed" },
    { type: "file_search_call", status: "failed" },
  ];
  expect(toolCalls({}, { output })).toEqual({});
});

test("searches that the usage counts are those, whatever the output shows", () => {
  const usage = { server_tool_use: { web_search_requests: 4 } };
  expect(toolCalls(usage, { output: [search("search")] })).toEqual({ web_search_call: 4 });
  expect(toolCalls(usage, {})).toEqual({ web_search_call: 4 });
});
