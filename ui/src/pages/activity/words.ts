/** What an event says in one line. Pure. */

import type { IconName } from "../../parts/icon";
import type { Tone } from "../../parts/tag";
import { plain } from "../../parts/words";
import { anomalyWords, shownAgent } from "../../parts/agent_words";
import { tokens } from "../../parts/amount";
import { tightWords } from "../../parts/budget";
import { evidenceTone, instruction, phaseNews } from "../../parts/work_words";
import type { Event, TurnDone } from "../../wire/events";

/** An event, ready to be drawn. */
export interface Told {
  icon: IconName;
  what: string;
  more: string;
  tone?: Tone;
}

const LONGEST = 200;

function short(text: string): string {
  const words = plain(text.slice(0, LONGEST * 2));
  return words.length > LONGEST ? `${words.slice(0, LONGEST)}…` : words;
}

/** What happened. */
export function toldOf(event: Event): Told {
  switch (event.type) {
    case "message":
      if (event.origin === "work") return { icon: "work", what: "Work", more: short(instruction(event.content)) };
      return { icon: "user", what: "Message", more: short(event.content) };
    case "resumed":
      return { icon: "retry", what: "Resumed", more: event.attempt > 1 ? `attempt ${event.attempt}` : "" };
    case "tool_call":
      return { icon: "tools", what: `Calls ${event.tool}`, more: short(JSON.stringify(event.input)) };
    case "tool_result":
      return {
        icon: event.success ? "check" : "warning",
        what: `${event.tool} ${OUTCOMES[event.outcome] ?? event.outcome}`,
        more: short(event.result_preview),
        ...(event.success ? {} : { tone: "bad" as const }),
      };
    case "approval_request":
      return { icon: "approvals", what: `Approval needed: ${event.tool}`, more: short(event.question), tone: "warn" };
    case "approval_resolved":
      return { icon: "approvals", what: event.allowed ? "Allowed" : "Denied", more: short(event.reason) };
    case "client_call":
      return { icon: "tools", what: `The client runs ${event.tool}`, more: "" };
    case "recalled":
      return { icon: "memory", what: count(event.memories.length, "memory", "memories"), more: short(event.memories.map((each) => each.text).join(" · ")) };
    case "text":
      return { icon: "chat", what: "Says", more: short(event.text) };
    case "task_update":
      return { icon: "tasks", what: "Tasks", more: short(event.summary) };
    case "model_fallback":
      return { icon: "warning", what: `${event.answered} answered for ${event.asked}`, more: short(event.reason), tone: "warn" };
    case "prompt_truncated":
      return { icon: "warning", what: "Prompt truncated", more: short(event.hint), tone: "warn" };
    case "model_changed":
      return { icon: "box", what: "Model changed", more: event.model };
    case "mode_changed":
      return { icon: "activity", what: "Mode changed", more: event.mode.replace("_", " ") };
    case "renamed":
      return { icon: "edit", what: "Renamed", more: short(event.title) };
    case "cleared":
      return { icon: "spark", what: "Context cleared", more: "" };
    case "rule":
      return { icon: "pin", what: `Rule ${event.state === "active" ? "pinned" : event.state}`, more: short(event.text) };
    case "agent_changed":
      return { icon: "agent", what: event.routed ? "Routed" : "Agent changed", more: shownAgent(event.agent) };
    case "delegate_started":
      return { icon: "agent", what: `${event.agent} begins`, more: short(event.task) };
    case "delegate_done":
      return { icon: "agent", what: `${event.agent} ended: ${event.status}`, more: `${tokens(event.tokens)} tokens`, ...(event.no_work_seen && { tone: "warn" as const }) };
    case "agent_anomaly":
      return { icon: "warning", what: anomalyWords(event), more: "", tone: "warn" };
    case "skill":
      return { icon: "spark", what: `Skill ${event.name} ${event.change}`, more: short(event.note) };
    case "budget":
      return { icon: "usage", what: "Budget", more: tightWords(event), tone: "warn" };
    case "work_phase":
      return { icon: "work", what: phaseNews(event) || "Deep work: the plan is ready", more: short(event.note), ...(event.pause && { tone: "warn" as const }) };
    case "plan_ready":
      return { icon: "work", what: event.reason ? "Change of the plan proposed" : `Plan v${event.version} waits for approval`, more: short(event.reason || event.forecast), tone: "warn" };
    case "evidence": {
      const tone = evidenceTone(event.state);
      return { icon: event.state === "refuted" ? "warning" : "check", what: `Task #${event.task} ${event.state}`, more: short(event.proof), ...(tone && { tone }) };
    }
    case "stuck":
      return { icon: "warning", what: "The work goes in circles", more: short(event.detail), tone: "warn" };
    case "done":
      return { icon: "check", what: "Done", more: spent(event), tone: "good" };
    case "stopped":
      return { icon: "stop", what: "Stopped", more: "" };
    case "limit":
      return { icon: "warning", what: "Limit reached", more: short(event.text), tone: "warn" };
    case "error":
      return { icon: "warning", what: "Failed", more: short(event.message), tone: "bad" };
    default:
      // A server that is younger than this page may tell of more.
      return { icon: "info", what: (event as { type: string }).type.replace(/_/g, " "), more: "" };
  }
}

const OUTCOMES: Record<string, string> = { done: "finished", failed: "failed", denied: "was denied", uncertain: "was interrupted" };

function spent({ model, usage }: TurnDone): string {
  return `${model}, ${tokens(usage.input_tokens + usage.output_tokens)} tokens`;
}

function count(number: number, one: string, many: string): string {
  return number === 1 ? `1 ${one} used` : `${number} ${many} used`;
}
