/** Chains: their links in words, and where they stand in a drawing. Pure. */

import type { AgentResponse, ChainStrategy, DelegationResponse } from "../wire/responses";
import { conditionWords } from "./agent_words";
import { money, tokens } from "./amount";
import { duration } from "./moment";

type Chain = NonNullable<AgentResponse["chain"]>;

/** Where a link stands; "plain" for one that is only described. */
export type LinkState = "plain" | "ahead" | "running" | "done" | "failed" | "skipped";

/** A link of a chain, ready to be drawn. */
export interface LinkShown {
  number: number;
  agent: string;
  /** When it works and what it is given, or what came of it; a line each. */
  lines: readonly string[];
  state: LinkState;
}

/** What a strategy does. */
export const STRATEGIES: Readonly<Record<ChainStrategy, string>> = {
  sequential: "One after another",
  parallel: "Side by side",
  conditional: "Only the first whose condition holds",
};

const GIVEN = "{{input}}";

/** The links of a chain as its agent describes them. */
export function linksOf(chain: Chain): LinkShown[] {
  return chain.links.map((link, index) => {
    const given = link.input === GIVEN ? "gets the message" : `gets ${oneLine(link.input)}`;
    const goesOn = link.on_error === "continue" ? "the chain goes on if it fails" : "";
    return { number: index + 1, agent: link.agent, lines: [conditionWords(link.when), given, goesOn].filter(Boolean), state: "plain" as const };
  });
}

const LINK = /^link-(\d+)$/;

/** The links of a chain as a turn has gone through them; `over` when the turn has ended. */
export function linksRun(chain: Chain, delegates: readonly DelegationResponse[], over: boolean): LinkShown[] {
  const begun = new Map(delegates.map((each) => [Number(LINK.exec(each.call_id)?.[1] ?? 0), each]));
  return chain.links.map((link, index) => {
    const number = index + 1;
    const found = begun.get(number);
    const condition = conditionWords(link.when);
    const state: LinkState = found ? stateOf(found) : over ? "skipped" : "ahead";
    const facts = found ? factsOf(found) : over ? "not needed" : "not yet begun";
    return { number, agent: found?.receipt?.agent ?? link.agent, lines: [condition, facts].filter(Boolean), state };
  });
}

function stateOf({ receipt }: DelegationResponse): LinkState {
  if (!receipt) return "running";
  return receipt.status === "done" ? "done" : "failed";
}

function factsOf({ receipt }: DelegationResponse): string {
  if (!receipt) return "at work";
  const cost = Number(receipt.cost);
  const marks = [receipt.status, spent(receipt.seconds), `${tokens(receipt.tokens)} tokens`, cost > 0 ? money(cost) : "", receipt.no_work_seen ? "no work seen" : ""];
  return marks.filter(Boolean).join(" · ");
}

/** Seconds in words. */
export function spent(seconds: number): string {
  return duration(seconds * 1000);
}

/** A link, for whoever does not see the drawing. */
export function linkWords({ agent, lines }: LinkShown): string {
  return [agent, ...lines].join(", ");
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** A box of the drawing. */
export interface Box {
  link: LinkShown;
  y: number;
  height: number;
}

/** An arrow to a box. */
export interface Arrow {
  line: string;
  tip: string;
}

/** A drawing: boxes one below the other, and the lines between them. */
export interface Drawing {
  height: number;
  boxes: readonly Box[];
  arrows: readonly Arrow[];
}

export const WIDTH = 360;
/** Where boxes begin. */
export const LEFT = 36;
const TOP = 18;
const GAP = 26;
const HEAD = 30;
const LINE = 17;
const TRUNK = 12;
const TIP = 7;
const STEM = LEFT + 24;

/** Where the links of a chain stand: in a row for those that follow each other, at a trunk for others. */
export function drawingOf(strategy: ChainStrategy, links: readonly LinkShown[]): Drawing {
  let y = TOP;
  const boxes = links.map((link) => {
    const height = HEAD + LINE * link.lines.length;
    const box = { link, y, height };
    y += height + GAP;
    return box;
  });
  const arrows = boxes.map((box, index) => {
    if (strategy === "sequential") {
      const above = boxes[index - 1];
      return { line: `M${STEM} ${above ? above.y + above.height : 2}V${box.y - TIP}`, tip: `M${STEM - 4} ${box.y - TIP}h8l-4 ${TIP}z` };
    }
    const middle = box.y + box.height / 2;
    return { line: `M${TRUNK} 2V${middle}H${LEFT - TIP}`, tip: `M${LEFT - TIP} ${middle - 4}v8l${TIP} -4z` };
  });
  return { height: Math.max(TOP, y - GAP) + 2, boxes, arrows };
}
