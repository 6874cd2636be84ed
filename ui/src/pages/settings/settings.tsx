/** Settings: models, tokens, what is configured, the doctor, and the appearance. */

import { Tabs } from "../../parts/tabs";
import { go, place } from "../../router";
import { Character } from "./character";
import { Config } from "./config";
import { Doctor } from "./doctor";
import { Look } from "./look";
import { Models } from "./models";
import { Tokens } from "./tokens";
import "./settings.css";

const TABS = [
  { id: "models", title: "Models", Part: Models },
  { id: "character", title: "Character", Part: Character },
  { id: "tokens", title: "Tokens", Part: Tokens },
  { id: "config", title: "Config", Part: Config },
  { id: "doctor", title: "Doctor", Part: Doctor },
  { id: "look", title: "Appearance", Part: Look },
];

export default function SettingsPage() {
  const [wanted] = place.value.rest;
  const { id, Part } = TABS.find((each) => each.id === wanted) ?? TABS[0]!;
  return (
    <div class="page">
      <Tabs label="Settings" tabs={TABS} chosen={id} onChoose={(chosen) => go("settings", chosen)}>
        <div class="settings-panel stack">
          <Part />
        </div>
      </Tabs>
    </div>
  );
}
