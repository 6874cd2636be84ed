/** The model of a session, and the choice of another. */

import { useState } from "preact/hooks";
import { Icon } from "../../parts/icon";
import { Menu, type Choice } from "../../parts/menu";
import { tell, tellFailure } from "../../parts/toast";
import { go } from "../../router";
import { api } from "../../wire/api";
import type { ModelList, ModelResponse } from "../../wire/responses";

interface Shape {
  /** The model that is asked now; empty when there is none. */
  current: string;
  /** Have another one asked. */
  onChoose: (name: string) => Promise<void>;
}

export function ModelMenu({ current, onChoose }: Shape) {
  const [models, setModels] = useState<readonly ModelResponse[] | null>(null);
  const look = () => {
    api
      .get<ModelList>("/api/models")
      .then((told) => setModels(told.models))
      .catch(tellFailure);
  };
  const choose = (name: string) => {
    onChoose(name)
      .then(() => tell(`This session uses ${name} now.`))
      .catch(tellFailure);
  };
  const choices: Choice[] = (models ?? [])
    .filter((model) => model.name)
    .map((model) => ({
      label: model.name,
      note: model.installed ? model.note : "not downloaded",
      checked: model.name === current,
      onChoose: () => choose(model.name),
    }));
  choices.push({ label: "Add or test models…", icon: "settings", onChoose: () => go("settings", "models") });
  return (
    <Menu
      label={current ? `Model: ${current}` : "No model: choose one"}
      button={
        <>
          <Icon name="box" />
          <span class="model-name clip">{current ? short(current) : "No model"}</span>
          <Icon name="down" />
        </>
      }
      buttonClass="button button-quiet button-small"
      choices={choices}
      onOpen={look}
    />
  );
}

/** The name without its provider, which the menu tells. */
function short(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}
