/** The pages at the left; on a phone, in a drawer. */

import { Icon } from "../parts/icon";
import { PAGES } from "../pages";
import { href, place } from "../router";
import { approvals } from "../state/activity";

export function Nav({ onGo }: { onGo?: () => void }) {
  const current = place.value.page;
  return (
    <ul class="nav">
      {PAGES.filter((page) => !page.inner).map((page) => (
        <li key={page.path}>
          <a
            class="nav-link"
            href={href(page.path)}
            aria-current={page.path === current ? "page" : undefined}
            onClick={onGo}
          >
            <Icon name={page.icon} />
            <span>{page.title}</span>
            {page.path === "approvals" && <Waiting />}
          </a>
        </li>
      ))}
    </ul>
  );
}

function Waiting() {
  const count = approvals.value.length;
  return count > 0 ? <span class="nav-count">{count}</span> : null;
}
