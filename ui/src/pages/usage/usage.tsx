/** Usage: what may be spent, and what was, by day, model and session. */

import { useState } from "preact/hooks";
import { money, tokens } from "../../parts/amount";
import { Card } from "../../parts/card";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Table } from "../../parts/table";
import { href, place } from "../../router";
import { useAsked } from "../../state/asked";
import { api } from "../../wire/api";
import type { TotalResponse, UsageResponse } from "../../wire/responses";
import { daysOf, largest, type Row } from "./books";
import { Budget, hasLimits, useBudget } from "./budget";
import { Days, Shares } from "./charts";
import "./usage.css";

const RANGES = [
  { id: "today", title: "Today" },
  { id: "7d", title: "7 days" },
  { id: "30d", title: "30 days" },
  { id: "all", title: "All time" },
];

export default function UsagePage() {
  const [range, setRange] = useState("7d");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const { answer, error, busy, again } = useAsked(
    (signal) => api.get<UsageResponse>("/api/usage", { range, tz: zone }, signal),
    [range],
  );
  // Whoever comes from a session sees its limits, too.
  const session = place.value.rest[0] ?? null;
  const asked = useBudget(session);
  const limited = hasLimits(asked);
  const budget = <Budget asked={asked} session={session} />;
  return (
    <div class="page" aria-busy={busy}>
      {limited && budget}
      <div class="ranges" role="group" aria-label="Period">
        {RANGES.map(({ id, title }) => (
          <button key={id} type="button" class="range" aria-pressed={range === id} onClick={() => setRange(id)}>
            {title}
          </button>
        ))}
      </div>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading what="Loading" />}
      {answer && <Books usage={answer} />}
      {!limited && budget}
    </div>
  );
}

function Books({ usage }: { usage: UsageResponse }) {
  if (usage.total.requests === 0) {
    return (
      <Empty icon="usage" title="No usage in this period.">
        <p>Tokens are counted here as soon as a model is used. Try a longer period.</p>
      </Empty>
    );
  }
  const models = largest(usage.by_model.map((each) => ({ ...each, key: each.model, label: each.model, link: "" })));
  const sessions = largest(
    usage.by_session.map((each) => ({
      ...each,
      key: each.session_id,
      label: each.title ?? "Deleted session",
      link: each.title === null ? "" : href("chat", each.session_id),
    })),
  );
  const days = daysOf(usage);
  return (
    <>
      <Totals total={usage.total} />
      <Card title="By day">
        {days.length > 1 && <Days rows={days} />}
        <details class="fold" open={days.length === 1}>
          <summary>Days as a table</summary>
          <Numbers label="Usage by day" first="Day" rows={[...days].reverse().filter((row) => row.requests > 0)} />
        </details>
      </Card>
      <Card title="By model">
        <Shares rows={models} />
        <Numbers label="Usage by model" first="Model" rows={models} />
      </Card>
      <Card title="By session">
        <Shares rows={sessions} />
        <Numbers label="Usage by session" first="Session" rows={sessions} />
      </Card>
    </>
  );
}

function Totals({ total }: { total: TotalResponse }) {
  const facts = [
    { name: "Tokens", value: tokens(total.total_tokens), exact: total.total_tokens.toLocaleString("en") },
    { name: "Read", value: tokens(total.input_tokens), exact: total.input_tokens.toLocaleString("en") },
    { name: "Output", value: tokens(total.output_tokens), exact: total.output_tokens.toLocaleString("en") },
    { name: "Requests", value: total.requests.toLocaleString("en"), exact: "" },
    { name: "Cost", value: total.cost === null ? "unknown" : money(total.cost), exact: "Of the requests whose price is known" },
  ];
  return (
    <dl class="totals">
      {facts.map(({ name, value, exact }) => (
        <div key={name} title={exact}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Numbers({ label, first, rows }: { label: string; first: string; rows: readonly Row[] }) {
  const count = (number: number) => number.toLocaleString("en");
  return (
    <div class="numbers">
      <Table<Row>
        label={label}
        rows={rows}
        rowKey={(row) => row.key}
        columns={[
          { title: first, cell: (row) => (row.link ? <a href={row.link}>{row.label}</a> : row.label) },
          { title: "Requests", cell: (row) => count(row.requests), number: true },
          { title: "Input", cell: (row) => count(row.input_tokens), number: true },
          { title: "Output", cell: (row) => count(row.output_tokens), number: true },
          { title: "Cost", cell: (row) => (row.cost === null ? "–" : money(row.cost)), number: true },
        ]}
      />
    </div>
  );
}
