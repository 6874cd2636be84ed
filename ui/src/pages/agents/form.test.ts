import { expect, test } from "vitest";
import type { AgentResponse } from "../../wire/responses";
import { draftOf, formOf, NEW } from "./form";

const agent: AgentResponse = {
  name: "poet", description: "Writes poems.", instructions: "Rhyme.", capabilities: ["words", "rhyme"], examples: ["A poem", "An ode"],
  model: null, sampling: { temperature: 0.5, top_p: 0.9, presence_penalty: null, frequency_penalty: null, max_tokens: null },
  tools: { allow: ["read_file"], deny: ["shell"] }, policy: { approvals: [], workspace: "read_only", network: null },
  budget: { steps: 3, tokens: null, cost: null, tool_calls: null, seconds: null }, memory: "none", input_schema: null, output_schema: null,
  max_chain_depth: 1, chain: null, color: "", icon: "", extra: { vibe: "calm" },
  version: 2, stage: "draft", origin: "person", warnings: [], created_at: "2026-11-16T09:00:00Z", digest: "d",
};
const draft = (more: object = {}) => {
  const read = draftOf({ ...formOf(agent), ...more });
  return "draft" in read ? read.draft : read.wrong;
};

test("an agent that is filled in and read again says the same", () => {
  const { version, stage, origin, warnings, created_at, digest, ...content } = agent;

  expect(draft()).toEqual(content);
});

test("an empty field allows the usual tools, and one word none of them", () => {
  expect(draft({ allow: "" })).toMatchObject({ tools: { allow: null } });
  expect(draft({ allow: "none" })).toMatchObject({ tools: { allow: [] } });
  expect(formOf({ ...agent, tools: { allow: [], deny: [] } }).allow).toBe("none");
  expect(formOf({ ...agent, tools: { allow: null, deny: [] } }).allow).toBe("");
});

test("what cannot be read is said before anything is sent", () => {
  expect(draft({ rest: "[1]" })).toContain("no JSON object");
  expect(draft({ rest: '{"colour": 1}' })).toContain("not colour");
  expect(draft({ temperature: "warm" })).toContain("temperature");
  expect(draft({ depth: "" })).toContain("whole number");
});

test("a new agent needs no more than a name", () => {
  expect(draftOf({ ...NEW, name: " poet " })).toMatchObject({ draft: { name: "poet", tools: { allow: null, deny: [] }, max_chain_depth: 3 } });
});
