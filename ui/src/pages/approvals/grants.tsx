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
import type { GrantTold } from "./shapes";

const TELLING: ReadonlySet<string> = new Set(["approval_resolved", "tool_result", "catch_up"]);

export function Grants({ titleOf }: { titleOf: (id: string) => string }) {
  const [revoked, setRevoked] = useState(false);
  const [leaving, setLeaving] = useState<GrantTold | null>(null);
  const { answer, error, again } = useAsked(
    (signal) => api.get<{ grants: GrantTold[] }>("/api/grants", { revoked }, signal),
    [revoked],
  );
  useFresh(TELLING, again);
  const revoke = async (grant: GrantTold) => {
    try {
      await api.delete(`/api/grants/${encodeURIComponent(grant.id)}`);
      tell("Taken back: the next such call asks again.");
      again();
    } catch (failure) {
      tellFailure(failure);
    }
  };
  return (
    <section aria-label="Lasting answers">
      <header class="section-head">
        <h2>Lasting answers</h2>
        <label class="row small soft">
          <input type="checkbox" checked={revoked} onChange={(event) => setRevoked(event.currentTarget.checked)} />
          Also those taken back
        </label>
      </header>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {answer?.grants.length === 0 && (
        <p class="soft">None. “For this session” and “Always” leave an answer here, which can be taken back.</p>
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
                <Tag>taken back</Tag>
              ) : (
                <Button small kind="danger" onClick={() => setLeaving(grant)} aria-label={`Take back: ${grant.scope}`}>
                  Take back
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {leaving && (
        <Confirm
          title="Take this answer back?"
          action="Take back"
          danger
          onConfirm={() => void revoke(leaving)}
          onClose={() => setLeaving(null)}
        >
          <p>
            <code>{leaving.scope}</code> is asked about again, from the next call on.
          </p>
        </Confirm>
      )}
    </section>
  );
}

function Where({ grant, titleOf }: { grant: GrantTold; titleOf: (id: string) => string }) {
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
