/** What was allowed for a session or for always, and a way to take it back. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Confirm } from "../../parts/dialog";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Tag } from "../../parts/tag";
import { Time } from "../../parts/time";
import { tell, tellFailure } from "../../parts/toast";
import { href } from "../../router";
import { useAsked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { api } from "../../wire/api";
import type { GrantList, GrantResponse } from "../../wire/responses";

const TELLING: ReadonlySet<string> = new Set(["approval_resolved", "tool_result", "catch_up"]);

export function Grants({ titleOf }: { titleOf: (id: string) => string }) {
  const [revoked, setRevoked] = useState(false);
  const [leaving, setLeaving] = useState<GrantResponse | null>(null);
  const { answer, error, again } = useAsked(
    (signal) => api.get<GrantList>("/api/grants", { revoked }, signal),
    [revoked],
  );
  useFresh(TELLING, again);
  const revoke = async (grant: GrantResponse) => {
    try {
      await api.delete(`/api/grants/${encodeURIComponent(grant.id)}`);
      tell("Revoked. The next such call asks again.");
      again();
    } catch (failure) {
      tellFailure(failure);
    }
  };
  return (
    <section aria-label="Saved permissions">
      <header class="section-head">
        <h2>Saved permissions</h2>
        <label class="row small soft">
          <input type="checkbox" checked={revoked} onChange={(event) => setRevoked(event.currentTarget.checked)} />
          Show revoked
        </label>
      </header>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {answer?.grants.length === 0 && (
        <p class="soft">None. “For this session” and “Always” save a permission here. It can be revoked at any time.</p>
      )}
      {answer && answer.grants.length > 0 && (
        <ul class="rows">
          {answer.grants.map((grant) => (
            <li key={grant.id} class="grant">
              <div class="grow">
                <div>
                  <code>{grant.scope}</code>
                </div>
                <div class="soft small">
                  <Where grant={grant} titleOf={titleOf} />, since <Time at={grant.created_at} />, {used(grant.used)}
                </div>
              </div>
              {grant.revoked_at ? (
                <Tag>revoked</Tag>
              ) : (
                <Button small kind="danger" onClick={() => setLeaving(grant)} aria-label={`Revoke: ${grant.scope}`}>
                  Revoke
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {leaving && (
        <Confirm
          title="Revoke this permission?"
          action="Revoke"
          danger
          onConfirm={() => void revoke(leaving)}
          onClose={() => setLeaving(null)}
        >
          <p>
            <code>{leaving.scope}</code> will ask again from the next call on.
          </p>
        </Confirm>
      )}
    </section>
  );
}

function Where({ grant, titleOf }: { grant: GrantResponse; titleOf: (id: string) => string }) {
  if (grant.session_id === null) return <>Always, in all sessions</>;
  return (
    <>
      Only in <a href={href("chat", grant.session_id)}>{titleOf(grant.session_id)}</a>
    </>
  );
}

function used(count: number): string {
  if (count === 0) return "not used yet";
  return count === 1 ? "used once" : `used ${count} times`;
}
