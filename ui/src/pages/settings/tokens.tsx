/** Tokens: who may come in, and what they may do. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Confirm } from "../../parts/dialog";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Tag } from "../../parts/tag";
import { Time } from "../../parts/time";
import { tell, tellFailure } from "../../parts/toast";
import { useAsked } from "../../state/asked";
import { api } from "../../wire/api";
import type { IssuedToken, KnownToken, TokenList } from "../../wire/responses";
import { NewToken, Secret } from "./new_token";

interface Doing {
  what: "rotate" | "revoke";
  token: KnownToken;
}

export function Tokens() {
  const { answer, error, again } = useAsked((signal) => api.get<TokenList>("/api/tokens", {}, signal), []);
  const [making, setMaking] = useState(false);
  const [issued, setIssued] = useState<IssuedToken | null>(null);
  const [doing, setDoing] = useState<Doing | null>(null);
  const shown = (token: IssuedToken) => {
    setMaking(false);
    setIssued(token);
    again();
  };
  const path = doing ? `/api/tokens/${encodeURIComponent(doing.token.id)}` : "";
  const rotate = () => void api.post<IssuedToken>(`${path}/rotate`).then(shown).catch(tellFailure);
  const revoke = () =>
    void api
      .delete(path)
      .then(() => {
        tell("Revoked.");
        again();
      })
      .catch(tellFailure);
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return <Loading />;
  return (
    <>
      <div class="row spread">
        <p class="soft lead">A token lets a program or a browser sign in. Tokens are stored hashed.</p>
        <Button icon="plus" kind="main" onClick={() => setMaking(true)}>
          Create a token
        </Button>
      </div>
      {answer.tokens.length === 0 && (
        <Empty icon="user" title="No tokens yet.">
          <p>You need one to sign in from another machine.</p>
        </Empty>
      )}
      <ul class="settings-rows">
        {answer.tokens.map((token) => (
          <TokenLine key={token.id} token={token} onDo={setDoing} />
        ))}
      </ul>
      {making && <NewToken onMade={shown} onClose={() => setMaking(false)} />}
      {issued && <Secret token={issued} onClose={() => setIssued(null)} />}
      {doing?.what === "rotate" && (
        <Confirm title={`Rotate ${doing.token.name}?`} action="Rotate" onConfirm={rotate} onClose={() => setDoing(null)}>
          The old token stops working at once.
        </Confirm>
      )}
      {doing?.what === "revoke" && (
        <Confirm title={`Revoke ${doing.token.name}?`} action="Revoke" danger onConfirm={revoke} onClose={() => setDoing(null)}>
          It stops working at once. This cannot be undone.
        </Confirm>
      )}
    </>
  );
}

function TokenLine({ token, onDo }: { token: KnownToken; onDo: (doing: Doing) => void }) {
  const expired = token.expires_at !== null && Date.parse(token.expires_at) < Date.now();
  const dead = token.revoked_at !== null || expired;
  return (
    <li class="rows-line">
      <div class="rows-main">
        <div class="row">
          <span class="rows-name">{token.name}</span>
          {token.scopes.map((scope) => (
            <Tag key={scope}>{scope}</Tag>
          ))}
          {token.revoked_at !== null && <Tag tone="bad">revoked</Tag>}
          {token.revoked_at === null && expired && <Tag tone="bad">expired</Tag>}
        </div>
        <div class="soft small">
          {token.owner}, made <Time at={token.created_at} />
          {token.used_at ? (
            <>
              , used <Time at={token.used_at} />
            </>
          ) : (
            ", never used"
          )}
          {token.expires_at && (
            <>
              , {expired ? "expired" : "expires"} {new Date(token.expires_at).toLocaleDateString("en-GB", { dateStyle: "medium" })}
            </>
          )}
        </div>
      </div>
      {!dead && (
        <div class="row">
          <Button small aria-label={`Rotate ${token.name}`} onClick={() => onDo({ what: "rotate", token })}>
            Rotate
          </Button>
          <Button small kind="danger" aria-label={`Revoke ${token.name}`} onClick={() => onDo({ what: "revoke", token })}>
            Revoke
          </Button>
        </div>
      )}
    </li>
  );
}
