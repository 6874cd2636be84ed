/** An agent as the fields of a form, and back. Pure. */

import type { Json } from "../../wire/events";
import type { AgentResponse } from "../../wire/responses";

/** What is filled in: each as text. */
export interface AgentForm {
  name: string;
  description: string;
  instructions: string;
  model: string;
  allow: string;
  deny: string;
  capabilities: string;
  /** One in each line. */
  examples: string;
  temperature: string;
  depth: string;
  /** Whatever else there is, as JSON. */
  rest: string;
}

/** What says that no tool is allowed; an empty field allows the usual ones. */
const NONE = "none";

/** What has no field of its own. */
const REST = ["policy", "budget", "memory", "input_schema", "output_schema", "chain", "color", "icon", "extra"] as const;

const spelled = (value: unknown) => JSON.stringify(value, null, 2);
const listed = (names: readonly string[]) => names.join(", ");
const named = (text: string) => text.split(/[,\n]/).map((each) => each.trim()).filter(Boolean);

/** A form in which nothing was filled in yet. */
export const NEW: AgentForm = {
  name: "",
  description: "",
  instructions: "",
  model: "",
  allow: "",
  deny: "",
  capabilities: "",
  examples: "",
  temperature: "",
  depth: "3",
  rest: spelled({ policy: { approvals: [], workspace: "shared", network: null }, budget: {}, memory: "shared", chain: null }),
};

/** What an agent says, filled in. */
export function formOf(agent: AgentResponse): AgentForm {
  const { temperature, ...sampling } = agent.sampling;
  return {
    name: agent.name,
    description: agent.description,
    instructions: agent.instructions,
    model: agent.model ?? "",
    allow: agent.tools.allow === null ? "" : listed(agent.tools.allow) || NONE,
    deny: listed(agent.tools.deny),
    capabilities: listed(agent.capabilities),
    examples: agent.examples.join("\n"),
    temperature: temperature === null ? "" : String(temperature),
    depth: String(agent.max_chain_depth),
    rest: spelled({ sampling, ...Object.fromEntries(REST.map((key) => [key, agent[key]])) }),
  };
}

/** What was filled in, as a draft, or what is wrong with it. */
export function draftOf(form: AgentForm): { draft: Record<string, Json> } | { wrong: string } {
  const rest = readObject(form.rest);
  if (!rest) return { wrong: "The rest is no JSON object." };
  const known = REST as readonly string[];
  const unknown = Object.keys(rest).find((key) => key !== "sampling" && !known.includes(key));
  if (unknown) return { wrong: `The rest may have ${known.join(", ")} and sampling, not ${unknown}.` };
  const { sampling, ...others } = rest;
  const temperature = form.temperature.trim() === "" ? null : Number(form.temperature);
  const depth = Number(form.depth);
  if (Number.isNaN(temperature)) return { wrong: "The temperature is no number." };
  if (!Number.isInteger(depth) || form.depth.trim() === "") return { wrong: "How far it hands work on is no whole number." };
  const allow = form.allow.trim() === "" ? null : form.allow.trim() === NONE ? [] : named(form.allow);
  return {
    draft: {
      ...others,
      name: form.name.trim(),
      description: form.description.trim(),
      instructions: form.instructions,
      model: form.model.trim() || null,
      tools: { allow, deny: named(form.deny) },
      capabilities: named(form.capabilities),
      examples: form.examples.split("\n").map((each) => each.trim()).filter(Boolean),
      sampling: { ...(sampling as Record<string, Json> | undefined), temperature },
      max_chain_depth: depth,
    },
  };
}

function readObject(text: string): Record<string, Json> | null {
  try {
    const read = JSON.parse(text.trim() || "{}") as Json;
    return read !== null && typeof read === "object" && !Array.isArray(read) ? read : null;
  } catch {
    return null;
  }
}
