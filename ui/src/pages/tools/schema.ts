/** What a JSON schema says, in words and as fields of a form. Pure. */

import type { Json } from "../../wire/events";
import type { Schema } from "./shapes";

/** One argument of a call. */
export interface Argument {
  name: string;
  /** Such as "text", "whole number from 1 to 50" or "list of texts". */
  kind: string;
  description: string;
  required: boolean;
  /** What it is when nothing is said, as JSON; empty when there is nothing. */
  usual: string;
}

/** The arguments that a schema describes, in its order. */
export function argumentsOf(schema: Schema): Argument[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, own]) => ({
    name,
    kind: inWords(own, schema),
    description: own.description ?? "",
    required: required.has(name),
    usual: own.default === undefined || own.default === null ? "" : JSON.stringify(own.default),
  }));
}

const WORDS: Record<string, [string, string]> = {
  string: ["text", "texts"],
  integer: ["whole number", "whole numbers"],
  number: ["number", "numbers"],
  boolean: ["yes or no", "yes or no"],
  object: ["object", "objects"],
  array: ["list", "lists"],
  null: ["nothing", "nothing"],
};

/** What a value may be. `root` is where definitions are looked up. */
export function inWords(schema: Schema, root: Schema, many = false): string {
  const own = resolved(schema, root);
  if (own.enum) return own.enum.length > 0 ? `one of ${own.enum.map(shown).join(", ")}` : "nothing";
  if (own.const !== undefined) return shown(own.const);
  if (own.anyOf) return joined(own.anyOf.map((each) => inWords(each, root, many)));
  if (Array.isArray(own.type)) return joined(own.type.map((type) => inWords({ ...own, type }, root, many)));
  const [one, several] = WORDS[own.type ?? ""] ?? ["anything", "anything"];
  if (own.type === "array" && own.items) return `${many ? several : one} of ${inWords(own.items, root, true)}`;
  return `${many ? several : one}${bounds(own)}`;
}

function joined(words: readonly string[]): string {
  return [...new Set(words)].join(" or ");
}

function shown(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function bounds({ minimum, maximum }: Schema): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return `, at least ${minimum}`;
  return maximum !== undefined ? `, at most ${maximum}` : "";
}

/** Definitions may name each other in a circle; a few steps reach whatever means something. */
const STEPS = 5;

function resolved(schema: Schema, root: Schema): Schema {
  let own = schema;
  for (let step = 0; own.$ref && step < STEPS; step += 1) {
    own = root.$defs?.[own.$ref.replace("#/$defs/", "")] ?? {};
  }
  return own;
}

/** How an argument is filled in. */
export type Control = "text" | "number" | "flag" | "choice" | "json";

/** The control that suits a schema. */
export function controlOf(schema: Schema, root: Schema): { control: Control; choices: string[] } {
  const own = plainest(resolved(schema, root), root);
  if (own.enum?.every((each) => typeof each === "string")) return { control: "choice", choices: own.enum as string[] };
  if (own.type === "string") return { control: "text", choices: [] };
  if (own.type === "integer" || own.type === "number") return { control: "number", choices: [] };
  if (own.type === "boolean") return { control: "flag", choices: [] };
  return { control: "json", choices: [] };
}

/** Of something that may also be null, the other thing. */
function plainest(schema: Schema, root: Schema): Schema {
  const others = schema.anyOf?.filter((each) => each.type !== "null") ?? [];
  return others.length === 1 && others[0] ? resolved(others[0], root) : schema;
}

/** What was filled in, as arguments, or what is wrong with each field. */
export function filledIn(
  schema: Schema,
  texts: Readonly<Record<string, string>>,
): { args: Record<string, Json>; wrong: Record<string, string> } {
  const args: Record<string, Json> = {};
  const wrong: Record<string, string> = {};
  const required = new Set(schema.required ?? []);
  for (const [name, own] of Object.entries(schema.properties ?? {})) {
    const text = texts[name] ?? "";
    const { control } = controlOf(own, schema);
    // An empty text is a text where one is needed; anywhere else, nothing was said.
    if (text === "" && !(required.has(name) && control === "text")) {
      if (required.has(name)) wrong[name] = "This is needed.";
      continue;
    }
    const read = valueOf(text, control);
    if (read === undefined) wrong[name] = control === "number" ? "This is not a number." : "This is not JSON.";
    else args[name] = read;
  }
  return { args, wrong };
}

function valueOf(text: string, control: Control): Json | undefined {
  if (control === "text" || control === "choice") return text;
  if (control === "flag") return text === "true";
  try {
    const value = JSON.parse(text) as Json;
    return control === "number" && typeof value !== "number" ? undefined : value;
  } catch {
    return undefined;
  }
}
