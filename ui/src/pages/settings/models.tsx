/** Models: which there are, which one is the default, whether they answer, and ways to add one. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { tokens } from "../../parts/amount";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Field } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { Tag } from "../../parts/tag";
import { tell, tellFailure } from "../../parts/toast";
import { choose, Setup } from "../../setup/setup";
import { refreshStatus } from "../../state/access";
import { useAsked } from "../../state/asked";
import { api } from "../../wire/api";
import type { ModelList, ModelResponse, ModelTestResponse } from "../../wire/responses";

export function Models() {
  const { answer, error, again } = useAsked((signal) => api.get<ModelList>("/api/models", {}, signal), []);
  const [name, setName] = useState("");
  const [pulls, setPulls] = useState(0);
  const pull = async (model: string) => {
    try {
      await api.post("/api/models/pull", { name: model });
      tell(`Downloading ${model}.`);
      // The card that shows how far it is looks once more.
      setPulls((count) => count + 1);
    } catch (failure) {
      tellFailure(failure);
    }
  };
  const use = async (model: string) => {
    try {
      tell(await choose(model));
      setName("");
      await refreshStatus();
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
      <div class="row spread">
        <p class="soft grow">{answer.current ? `Default model: ${answer.current}` : "No model is connected yet."}</p>
        <Button small icon="retry" onClick={again}>
          Refresh
        </Button>
      </div>
      <ul class="settings-rows">
        {named.map((model) => (
          <ModelLine key={`${model.source} ${model.name}`} model={model} onChoose={use} onPull={pull} />
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
          if (name.trim()) void use(name.trim());
        }}
      >
        <Field label="Another model" value={name} onInput={setName} placeholder="provider:model" hint="Such as openai:gpt-5-mini or ollama:qwen3." />
        <Button type="submit" disabled={!name.trim()}>
          Use it
        </Button>
      </form>
      <h2>Add a model</h2>
      <Setup key={pulls} current={answer.current} onDone={again} />
    </>
  );
}

interface Line {
  model: ModelResponse;
  onChoose: (name: string) => Promise<void>;
  onPull: (name: string) => Promise<void>;
}

function ModelLine({ model, onChoose, onPull }: Line) {
  const [tried, setTried] = useState<ModelTestResponse | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const test = async () => {
    setBusy(true);
    setError(null);
    setTried(null);
    try {
      setTried(await api.post<ModelTestResponse>("/api/models/test", { model: model.name }));
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  const facts = [model.source, model.context_window && `${tokens(model.context_window)} tokens`, ...(model.installed ? [model.note] : [model.note.split(", not ")[0], "not downloaded"])];
  return (
    <li class="rows-line">
      <div class="rows-main">
        <div class="row">
          <span class="mono rows-name">{model.name}</span>
          {model.current && <Tag tone="accent">default</Tag>}
        </div>
        <div class="soft small">{facts.filter(Boolean).join(" · ")}</div>
        <div aria-live="polite">
          {tried && (
            <div class={tried.ok ? "tried" : "tried tried-bad"}>
              <Icon name={tried.ok ? "check" : "warning"} />
              <span>
                {tried.ok ? `Answered in ${tried.seconds.toFixed(1)} s.` : tried.error} {!tried.ok && <span class="soft">{tried.hint}</span>}
              </span>
            </div>
          )}
          {error !== null && <Failure error={error} />}
        </div>
      </div>
      <div class="row">
        {model.installed && (
          <Button small disabled={busy} aria-label={`Test ${model.name}`} onClick={() => void test()}>
            {busy ? "Testing" : "Test"}
          </Button>
        )}
        {!model.installed && (
          <Button small icon="download" aria-label={`Download ${model.name}`} onClick={() => void onPull(model.name)}>
            Download
          </Button>
        )}
        {model.installed && !model.current && (
          <Button small aria-label={`Use ${model.name}`} onClick={() => void onChoose(model.name)}>
            Use
          </Button>
        )}
      </div>
    </li>
  );
}
