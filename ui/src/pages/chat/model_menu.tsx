/** The model of a session, and the choice of another. */

import { useState } from "preact/hooks";
import { Icon } from "../../parts/icon";
import { Menu, type Choice } from "../../parts/menu";
import { tell, tellFailure } from "../../parts/toast";
import { api } from "../../wire/api";
import type { ModelList, ModelTold } from "../../wire/shapes";

interface Shape {
  /** The model that is asked now; empty when there is none. */
  current: string;
  /** Have another one asked. */
  onChoose: (name: string) => Promise<void>;
}

export function ModelMenu({ current, onChoose }: Shape) {
  const [models, setModels] = useState<readonly ModelTold[] | null>(null);
  const look = () => {
    api
      .get<ModelList>("/api/models")
      .then((told) => setModels(told.models))
      .catch(tellFailure);
  };
  const choose = (name: string) => {
    onChoose(name)
      .then(() => tell(`From the next step on, ${name} is asked.`))
      .catch(tellFailure);
  };
  const choices: Choice[] = (models ?? [])
    .filter((model) => model.name)
    .map((model) => ({
      label: model.name,
      note: model.installed ? model.note : "not installed",
      checked: model.name === current,
      onChoose: () => choose(model.name),
    }));
  return (
    <Menu
      label={current ? `Model: ${current}` : "Choose a model"}
      button={
        <>
          <Icon name="box" />
          <span class="model-name clip">{current ? short(current) : "No model"}</span>
          <Icon name="down" />
        </>
      }
      buttonClass="button button-quiet button-small"
      choices={choices}
      empty={models ? "No model was found. 'lra models' says how to get one." : "Looking for models"}
      onOpen={look}
    />
  );
}

/** The name without its provider, which the menu tells. */
function short(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}
