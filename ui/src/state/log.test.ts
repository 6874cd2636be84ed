import { describe, expect, test } from "vitest";
import type { Event } from "../wire/events";
import { active, apply, applyAll, latest, totals, type Frame } from "./log";
import { EMPTY, type Call, type Turn, type View } from "./view";

/** Writes logs as a server would: one number more for each event. */
class Story {
  frames: Frame[] = [];
  private seq = 0;
  constructor(private turn: string | null = "t1") {}

  tell(type: string, fields: object = {}): this {
    this.seq += 1;
    const place = { seq: this.seq, session_id: "s", turn_id: this.turn, at: "2026-11-16T09:00:00Z" };
    this.frames.push({ type, ...fields, ...place } as unknown as Event);
    return this;
  }

  pass(type: string, fields: object = {}): this {
    this.frames.push({ type, ...fields, session_id: "s", turn_id: this.turn } as unknown as Frame);
    return this;
  }

  in(turn: string | null): this {
    this.turn = turn;
    return this;
  }

  say(content: string, steer = false): this {
    return this.tell("message", { content, origin: "user", steer });
  }

  steered(content: string, into: string): this {
    return this.tell("steered", { content, into });
  }

  call(id: string, tool = "shell"): this {
    return this.tell("tool_call", { tool, input: { command: "ls" }, tool_call_id: id, effect: "once" });
  }

  ask(id: string): this {
    const about = { approval_id: `a-${id}`, tool: "shell", input: {}, tool_call_id: id };
    return this.tell("approval_request", { ...about, question: "it writes", scope: "shell", expires_at: null });
  }

  answer(id: string, allowed: boolean): this {
    const about = { approval_id: `a-${id}`, tool_call_id: id, allowed };
    return this.tell("approval_resolved", { ...about, reason: "", lasting: "once" });
  }

  result(id: string, outcome = "done"): this {
    const success = outcome === "done";
    return this.tell("tool_result", {
      tool: "shell", tool_call_id: id, result_preview: "a.txt", duration_ms: 12, success, outcome,
    });
  }

  done(text: string, more: object = {}): this {
    const usage = { input_tokens: 100, output_tokens: 10, cost: 0.01 };
    return this.tell("done", { text, iterations: 2, model: "m", usage, mode: "bounded", ...more });
  }

  get view(): View {
    return applyAll(EMPTY, this.frames);
  }
}

const turns = (view: View) => view.entries.filter((entry): entry is Turn => entry.kind === "turn");
const calls = (turn: Turn) => turn.items.filter((item): item is Call => item.kind === "call");
const asking = (view: View) => turns(view).flatMap(calls).filter((call) => call.state === "asking");

describe("a turn", () => {
  test("is told from its message to its answer, which stands there once", () => {
    const view = new Story().say("Hello").call("c1").result("c1").tell("text", { text: "Done." }).done("Done.").view;
    const [turn] = turns(view);

    expect(turn?.items.map((item) => item.kind)).toEqual(["call", "words"]);
    expect([turn?.state, turn?.ending]).toEqual(["done", { kind: "done", model: "m", steps: 2, notSeen: [] }]);
    expect(view.answered).toBe("m");
    expect(active(view)).toBeNull();
  });

  test("has what its answer claims and no call knows, which old logs do not say", () => {
    const ending = (more: object) => turns(new Story().say("Write").done("I wrote a.md.", more).view)[0]?.ending;

    expect(ending({ not_seen: ["a.md"] })).toMatchObject({ notSeen: ["a.md"] });
    expect(ending({})).toMatchObject({ notSeen: [] });
  });

  test("has the answer of its end when no text told it", () => {
    const [turn] = turns(new Story().say("Hello").done("Only here.").view);

    expect(turn?.items).toEqual([{ kind: "words", key: "words-0", text: "Only here." }]);
  });

  test("shows words as they come, and the stored text in their place under the same name", () => {
    const story = new Story().say("Hello").pass("thinking", { iteration: 1, max_iterations: 9, tokens_used: 0, token_budget: null, task_summary: "" });
    story.pass("text_delta", { text: "Two ", iteration: 1 }).pass("text_delta", { text: "herons", iteration: 1 });
    expect(turns(story.view)[0]).toMatchObject({ tail: "Two herons", state: "running", step: { iteration: 1, most: 9 } });

    story.tell("text", { text: "Two herons." });
    expect(turns(story.view)[0]).toMatchObject({ tail: "", items: [{ key: "words-0", text: "Two herons." }] });
  });

  test("forgets the words of a step that is made again", () => {
    const story = new Story().say("Hello").pass("text_delta", { text: "Wro", iteration: 1 });
    story.pass("retry", { model: "m", reason: "overloaded", wait_seconds: 1, iteration: 1 });

    expect(turns(story.view)[0]).toMatchObject({ tail: "", retrying: "overloaded" });
    story.pass("text_delta", { text: "Right", iteration: 1 });
    expect(turns(story.view)[0]).toMatchObject({ tail: "Right", retrying: "" });
  });

  test("forgets words that a window that comes back is told again", () => {
    const story = new Story().say("Hello").pass("text_delta", { text: "Two he", iteration: 1 });
    const back = apply(story.view, { type: "connected", session_id: "s", last_seq: 1 });

    expect(turns(back)[0]?.tail).toBe("");
  });

  test("says that words were lost until the text is there", () => {
    const story = new Story().say("Hello").pass("catch_up").pass("text_delta", { text: "rons", iteration: 1 });
    expect(turns(story.view)[0]).toMatchObject({ gap: true, tail: "rons" });

    expect(turns(story.tell("text", { text: "Two herons" }).view)[0]?.gap).toBe(false);
  });

  test("keeps the words that had been written when it was stopped", () => {
    const story = new Story().say("Hello").pass("text_delta", { text: "Two", iteration: 1 }).tell("stopped", { text: "Two" });

    expect(turns(story.view)[0]).toMatchObject({ state: "stopped", tail: "", items: [{ text: "Two" }] });
  });

  test("goes on after it failed, and ends once more", () => {
    const story = new Story().say("Hello").tell("error", { code: "unavailable", message: "No model.", hint: "Set one." });
    expect(turns(story.view)[0]?.ending).toEqual({ kind: "failed", code: "unavailable", message: "No model.", hint: "Set one." });

    story.tell("resumed", { attempt: 2 });
    expect(active(story.view)).toMatchObject({ state: "running", ending: null });
    expect(turns(story.tell("text", { text: "Yes" }).done("Yes").view)[0]?.state).toBe("done");
  });

  test("goes on with the first that is heard of it, live as in the log", () => {
    const stopped = new Story().say("Hello").tell("stopped", { text: "Two" });
    const live = apply(stopped.view, { type: "text_delta", text: "Th", iteration: 1, session_id: "s", turn_id: "t1" });
    expect(active(live)).toMatchObject({ state: "running", ending: null, tail: "Th" });

    const stored = stopped.tell("text", { text: "Three" }).frames.at(-1)!;
    expect(turns(apply(live, stored))).toEqual(turns(stopped.view));
    expect(turns(stopped.view)[0]?.items.map((item) => item.kind)).toEqual(["words", "notice", "words"]);
  });

  test("is not opened again by a second end", () => {
    const story = new Story().say("Hello").tell("stopped", { text: "" }).tell("error", { code: "x", message: "No.", hint: "" });

    expect(turns(story.view)[0]).toMatchObject({ state: "failed", items: [] });
  });

  test("has a line where a budget gets tight, and goes on", () => {
    const tight = { scope: "day", resource: "tokens", limit: 200_000, wrap_up: false };
    const [turn] = turns(new Story().say("Hello").tell("budget", tight).view);

    expect(turn?.items).toMatchObject([{ kind: "notice", tone: "plain", title: "Most of today's 200k tokens are used" }]);
    expect(turn?.state).toBe("running");
  });

  test("says which budget ended it", () => {
    const story = new Story().say("Hello").tell("limit", { limit: "steps", text: "I had to stop here." });

    expect(turns(story.view)[0]).toMatchObject({ state: "limited", ending: { limit: "steps" } });
  });
});

describe("a call", () => {
  test("waits for a person, and the turn with it, until the last question is answered", () => {
    const story = new Story().say("Go").call("c1").call("c2").ask("c1").ask("c2");
    expect(asking(story.view).map((call) => call.approval?.id)).toEqual(["a-c1", "a-c2"]);

    story.answer("c1", true);
    expect(turns(story.view)[0]?.state).toBe("waiting");
    story.answer("c2", false);
    expect(turns(story.view)[0]?.state).toBe("running");
    expect(calls(turns(story.view)[0]!).map((call) => call.state)).toEqual(["running", "denied"]);
    expect(asking(story.view)).toEqual([]);
  });

  test.each(["done", "failed", "denied", "uncertain"])("ends as %s", (outcome) => {
    const [turn] = turns(new Story().say("Go").call("c1").result("c1", outcome).view);

    expect(calls(turn!)[0]).toMatchObject({ state: outcome, result: "a.txt", milliseconds: 12 });
  });

  test("may wait for the program that asked", () => {
    const story = new Story().say("Go").call("c1").tell("client_call", { tool: "shell", input: {}, tool_call_id: "c1" });

    expect(calls(turns(story.view)[0]!)[0]?.state).toBe("client");
  });

  test("keeps the object of every other turn, so that nothing else is drawn again", () => {
    const story = new Story().say("One").done("1").in("t2").say("Two").call("c1");
    const before = story.view;
    const next = apply(before, story.result("c1").frames.at(-1)!);

    expect(next.entries[0]).toBe(before.entries[0]);
    expect(next.entries[1]).not.toBe(before.entries[1]);
  });
});

describe("a session", () => {
  test("hears each event once, however often it is told", () => {
    const story = new Story().say("Hello").tell("text", { text: "Yes" });
    const view = story.view;

    expect(applyAll(view, story.frames)).toBe(view);
    expect(view.last).toBe(2);
  });

  test("shows a message that waits behind another as queued", () => {
    const view = new Story().say("One").pass("text_delta", { text: "…", iteration: 1 }).in("t2").say("Two").view;

    expect(turns(view).map((turn) => turn.state)).toEqual(["running", "queued"]);
    expect(active(view)?.id).toBe("t1");
    expect(latest(view)?.id).toBe("t2");
  });

  test("tells what changed about it between its turns", () => {
    const story = new Story().say("One").done("1").in(null);
    story.tell("model_changed", { model: "openai:x" }).tell("renamed", { title: "Herons" }).tell("cleared");
    story.tell("mode_changed", { mode: "deep_work" });

    expect(story.view).toMatchObject({ model: "openai:x", title: "Herons", mode: "deep_work" });
    expect(story.view.entries.map((entry) => entry.kind)).toEqual(["turn", "notice", "notice", "notice", "notice"]);
  });

  test("has one line of progress in a turn, which changes in place", () => {
    const task = { number: 1, title: "Count", status: "pending", parent: null };
    const story = new Story().say("Go").tell("task_update", { tasks: [task], summary: "0 of 1" }).call("c1");
    story.tell("task_update", { tasks: [{ ...task, status: "completed" }], summary: "1 of 1" });

    expect(turns(story.view)[0]?.items.map((item) => item.kind)).toEqual(["tasks", "call"]);
    expect(story.view).toMatchObject({ progress: "1 of 1", tasks: [{ status: "completed" }] });
  });

  test("adds up what its turns used; a retried one counts with its last end", () => {
    const story = new Story().say("One").done("1").in("t2").say("Two").done("2").tell("resumed", { attempt: 2 }).done("3");

    expect(totals(story.view)).toEqual({ input: 200, output: 20, cost: 0.02 });
    expect(totals(EMPTY).cost).toBeNull();
  });

  test("with five thousand events is read in a moment", () => {
    const story = new Story();
    for (let turn = 0; turn < 500; turn += 1) {
      story.in(`t${turn}`).say("Go");
      for (let call = 0; call < 4; call += 1) story.call(`c${turn}-${call}`).result(`c${turn}-${call}`);
      story.done("Done");
    }
    const began = performance.now();

    expect(turns(story.view)).toHaveLength(500);
    expect(story.frames).toHaveLength(5000);
    expect(performance.now() - began).toBeLessThan(5000);
  });

  test("with one turn of five thousand calls is read as well", () => {
    const story = new Story().say("Go");
    for (let call = 0; call < 2500; call += 1) story.call(`c${call}`).result(`c${call}`);

    expect(calls(turns(story.view)[0]!)).toHaveLength(2500);
  });
});

describe("a message that steers", () => {
  const said = (story: Story) => turns(story.view).map((turn) => turn.prompt);
  const begin = () => new Story().say("Build").call("c1").in("t2").say("Deploy").in("t3").say("In blue", true);

  test("stands before what queues, and says what it waits for", () => {
    const story = begin();
    expect(said(story)).toEqual(["Build", "In blue", "Deploy"]);
    expect(turns(story.view)[1]).toMatchObject({ state: "queued", steer: true });
  });

  test("is a part of the turn that was given it, before the words that answer it", () => {
    const story = begin().in("t1").result("c1").in("t3").steered("In blue", "t1");
    story.in("t1").tell("text", { text: "Blue." });
    expect(said(story)).toEqual(["Build", "Deploy"]);
    expect(turns(story.view)[0]?.items.map((item) => item.kind)).toEqual(["call", "said", "words"]);
  });

  test("finds its place in a copy, where that turn has another name", () => {
    const story = begin().steered("In blue", "of the original");
    expect(turns(story.view)[0]?.items.map((item) => item.kind)).toEqual(["call", "said"]);
  });

  test("is a turn like any other when nothing hears it any more", () => {
    const story = begin().in("t1").done("Built.").in("t3").tell("text", { text: "Painted." });
    expect(active(story.view)).toMatchObject({ prompt: "In blue", state: "running" });
  });
});
