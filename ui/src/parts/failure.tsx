/** What went wrong and what to do, in the words of the server. */

import { asFailure } from "../wire/api";
import { Button } from "./button";
import { Icon } from "./icon";

export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const failure = asFailure(error);
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <div class="grow">
        <div>{failure.message}</div>
        {failure.hint && <div class="failure-hint">{failure.hint}</div>}
        {onRetry && (
          <div class="row">
            <Button small icon="retry" onClick={onRetry}>
              Try again
            </Button>
          </div>
        )}
      </div>
    </div>
  );
}
