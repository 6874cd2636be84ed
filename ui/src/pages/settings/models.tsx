/** Models: which there are, which one answers, and whether it does. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { tokens } from "../../parts/amount";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Field } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { Tag } from "../../parts/tag";
import { tell, tellFailure } from "../../parts/toast";
import { useAsked } from "../../state/asked";
import { api } from "../../wire/api";
import type { ModelList, ModelTold } from "../../wire/shapes";

interface Tried {
  model: string;
  ok: boolean;
  seconds: number;
  error: string;
  hint: string;
}

export function Models() {
  const { answer, error, again } = useAsked((signal) => api.get<ModelList>("/api/models", {}, signal), []);
  const [name, setName] = useState("");
  const choose = async (model: string) => {
    try {
      const { note } = await api.post<{ note: string }>("/api/models/select", { model_id: model });
      tell(note || `From the next step on, ${model} is asked.`);
      setName("");
      again();
    } catch (failure) {
      tellFailure(failure);
    }
  };
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return <Loading what="Looking for models" />;
  const named = answer.models.filter((model) => model.name);
  const notes = answer.models.filter((model) => !model.name && model.note);
  return (
    <>
      <p class="soft">
        {answer.current ? `${answer.current} answers where a session has not chosen its own.` : "No model is chosen yet: choose one, and the agent can answer."}
      </p>
      {named.length === 0 && (
        <Empty icon="box" title="No model was found.">
          <p>Start Ollama or LM Studio on the server's machine, or set a key there; then look again.</p>
          <Button icon="retry" onClick={again}>
            Look again
          </Button>
        </Empty>
      )}
      <ul class="settings-rows">
        {named.map((model) => (
          <ModelLine key={`${model.source} ${model.name}`} model={model} onChoose={choose} />
        ))}
      </ul>
      {notes.map((model) => (
        <p key={model.source} class="soft small">
          {model.source}: {model.note}
        </p>
      ))}
      <form
        class="named"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim()) void choose(name.trim());
        }}
      >
        <Field label="Another model" value={name} onInput={setName} placeholder="provider:model" hint="Such as openai:gpt-5-mini or ollama:qwen3." />
        <Button type="submit" disabled={!name.trim()}>
          Choose it
        </Button>
      </form>
    </>
  );
}

function ModelLine({ model, onChoose }: { model: ModelTold; onChoose: (name: string) => Promise<void> }) {
  const [tried, setTried] = useState<Tried | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const test = async () => {
    setBusy(true);
    setError(null);
    setTried(null);
    try {
      setTried(await api.post<Tried>("/api/models/test", { model: model.name }));
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  const facts = [model.source, model.context_window && `${tokens(model.context_window)} tokens`, model.installed ? model.note : model.note || "not installed"];
  return (
    <li class="rows-line">
      <div class="rows-main">
        <div class="row">
          <span class="mono rows-name">{model.name}</span>
          {model.current && <Tag tone="accent">answers</Tag>}
        </div>
        <div class="soft small">{facts.filter(Boolean).join(" · ")}</div>
        <div aria-live="polite">
          {tried && (
            <div class={tried.ok ? "tried" : "tried tried-bad"}>
              <Icon name={tried.ok ? "check" : "warning"} />
              <span>
                {tried.ok ? `It answered in ${tried.seconds.toFixed(1)} s.` : tried.error} {!tried.ok && <span class="soft">{tried.hint}</span>}
              </span>
            </div>
          )}
          {error !== null && <Failure error={error} />}
        </div>
      </div>
      <div class="row">
        <Button small disabled={busy} aria-label={`Test ${model.name}`} onClick={() => void test()}>
          {busy ? "Asking" : "Test"}
        </Button>
        {!model.current && (
          <Button small disabled={!model.installed} aria-label={`Choose ${model.name}`} onClick={() => void onChoose(model.name)}>
            Choose
          </Button>
        )}
      </div>
    </li>
  );
}
