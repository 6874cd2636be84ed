/** What an event tells a person that is no part of a turn's work. Pure. */

import { anomalyWords } from "../parts/agent_words";
import { tightWords } from "../parts/budget";
import { phaseNews } from "../parts/work_words";
import type { Event } from "../wire/events";
import type { Notice } from "./view";

/** What an event tells a person that is nothing else; null when it tells nothing. */
export function notice(event: Event): Notice | null {
  const told = (title: string, text = "", tone: Notice["tone"] = "plain", work = ""): Notice => ({
    kind: "notice",
    key: `notice-${event.seq}`,
    tone,
    title,
    text,
    at: event.at,
    ...(work && { work }),
  });
  switch (event.type) {
    case "model_fallback":
      return told(`${event.answered} answered in place of ${event.asked}`, event.reason, "warning");
    case "prompt_truncated":
      return told(
        `${event.model} has read only the end of the prompt`,
        `About ${event.sent_tokens.toLocaleString("en")} tokens were sent, and it has room for ` +
          `${event.window.toLocaleString("en")}. ${event.hint}`,
        "warning",
      );
    case "model_changed":
      return told(`The model is now ${event.model}`);
    case "mode_changed":
      return told(event.mode === "deep_work" ? "Deep work mode from the next message on" : "Normal mode from the next message on");
    case "renamed":
      return told(`Renamed to ${event.title}`);
    case "cleared":
      return told("Context cleared", "The model no longer sees the messages above.");
    case "rule":
      if (event.state === "active") return told(event.enforced ? "Rule enforced by the gate" : "Rule pinned", event.text);
      return event.state === "lifted" ? told("Rule lifted", event.text) : null;
    case "budget":
      return told(tightWords(event));
    case "work_phase": {
      // What is asked stands in the words before it, and above the field to write in while it is open.
      const words = phaseNews(event);
      return words ? told(words, "", event.pause ? "warning" : "plain", event.work_id) : null;
    }
    case "plan_ready":
      return told(event.reason ? "A change of the plan is proposed" : `Plan v${event.version} is ready`, event.reason, "plain", event.work_id);
    case "evidence":
      return told(`#${event.task} ${event.state} by ${event.by}`, "", "plain", event.work_id);
    case "stuck":
      return told("The work goes in circles", event.detail, "warning", event.work_id);
    case "agent_anomaly":
      return told(anomalyWords(event));
    case "skill":
      return told(`Skill ${event.name} (version ${event.version}) is ${event.change}`, event.note);
    default:
      return null;
  }
}
