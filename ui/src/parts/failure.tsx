/** What went wrong and what to do, in the words of the server. */

import { href } from "../router";
import { asFailure } from "../wire/api";
import { Button } from "./button";
import { Icon } from "./icon";
import { linkWords, nextStep } from "./next_step";

export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const failure = asFailure(error);
  const { hint, tab } = nextStep(failure.code, failure.hint);
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <div class="grow">
        <div>{failure.message}</div>
        {hint && <div class="failure-hint">{hint}</div>}
        {(onRetry || tab) && (
          <div class="row">
            {onRetry && (
              <Button small icon="retry" onClick={onRetry}>
                Try again
              </Button>
            )}
            {tab && <a href={href("settings", tab)}>{linkWords(tab)}</a>}
          </div>
        )}
      </div>
    </div>
  );
}
