/** What is configured, where each value came from, and the few that can be changed here. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Field, Search } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { Tag } from "../../parts/tag";
import { tell } from "../../parts/toast";
import { useAsked } from "../../state/asked";
import { api } from "../../wire/api";
import type { SettingList, SettingResponse } from "../../wire/responses";
import { read, sections, shown } from "./values";

export function Config() {
  const { answer, error, again } = useAsked((signal) => api.get<SettingList>("/api/settings", {}, signal), []);
  const [search, setSearch] = useState("");
  const [changed, setChanged] = useState(false);
  const [editing, setEditing] = useState<SettingResponse | null>(null);
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return <Loading />;
  const found = sections(answer.settings, search, changed);
  const pending = answer.settings.filter((each) => each.pending !== null).length;
  return (
    <>
      <p class="soft">Changes are written to config.toml and apply after a restart of the server. Paths, commands and addresses can only be edited in config.toml.</p>
      {pending > 0 && (
        <p class="note" role="status">
          <Icon name="clock" />
          {pending === 1 ? "1 change applies" : `${pending} changes apply`} after a restart of the server.
        </p>
      )}
      <div class="row">
        <div class="lead">
          <Search label="Search settings" value={search} onInput={setSearch} />
        </div>
        <label class="row">
          <input type="checkbox" checked={changed} onChange={(event) => setChanged(event.currentTarget.checked)} />
          Only changed settings
        </label>
      </div>
      {found.length === 0 && <Empty icon="settings" title={changed && !search ? "All settings have their default." : "No settings found."} />}
      {found.map(([section, settings]) => (
        <section key={section} aria-label={section}>
          <h2 class="settings-section mono">{section}</h2>
          <ul class="settings-rows">
            {settings.map((setting) => (
              <SettingLine key={setting.key} setting={setting} onEdit={() => setEditing(setting)} />
            ))}
          </ul>
        </section>
      ))}
      {editing && <Edit setting={editing} onDone={again} onClose={() => setEditing(null)} />}
    </>
  );
}

function SettingLine({ setting, onEdit }: { setting: SettingResponse; onEdit: () => void }) {
  const value = shown(setting.value);
  return (
    <li class="rows-line">
      <div class="rows-main">
        <div class="row">
          <span class="mono rows-name">{setting.key}</span>
          <Tag tone={setting.origin === "default" ? undefined : "accent"}>{setting.origin}</Tag>
          {setting.pending !== null && <Tag tone="warn">{shown(setting.pending)} after a restart</Tag>}
        </div>
        <div class="setting-value">{value ? <code>{value}</code> : <span class="soft small">not set</span>}</div>
        <div class="soft small">{setting.description}</div>
      </div>
      {setting.changeable && (
        <Button small icon="edit" aria-label={`Change ${setting.key}`} onClick={onEdit}>
          Change
        </Button>
      )}
    </li>
  );
}

function Edit({ setting, onDone, onClose }: { setting: SettingResponse; onDone: () => void; onClose: () => void }) {
  const [text, setText] = useState(shown(setting.pending ?? setting.value));
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await api.patch("/api/settings", { values: { [setting.key]: read(text, setting.value) } });
      tell("Saved. It applies after a restart of the server.");
      onDone();
      onClose();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Dialog title={setting.key} onClose={onClose}>
      <form class="stack" onSubmit={(event) => void send(event)}>
        <p class="soft">{setting.description}</p>
        <Field label="Value" value={text} onInput={setText} hint="Leave empty for the default." />
        {error !== null && <Failure error={error} />}
        <div class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" disabled={busy}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
