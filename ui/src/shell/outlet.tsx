/** The page that the address names, loaded when it is first shown. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Empty, Loading } from "../parts/empty";
import { Failure } from "../parts/failure";
import { FIRST, PAGES } from "../pages";
import { href, place, replace } from "../router";
import { overhear } from "../state/activity";

const loaded = new Map<string, ComponentType>();

export function Outlet() {
  const { page: path } = place.value;
  const [, redraw] = useState(0);
  const [error, setError] = useState<unknown>(null);
  const page = PAGES.find((each) => each.path === path);
  useEffect(() => {
    if (!path) replace(FIRST);
    setError(null);
    if (!page || loaded.has(path)) return;
    page
      .load()
      .then((module) => {
        loaded.set(path, module.default);
        redraw((count) => count + 1);
      })
      .catch(setError);
  }, [path]);
  // A page that could not be loaded is loaded when the server is back; not every browser tries a part twice.
  useEffect(() => (error ? overhear((heard) => void (heard.type === "catch_up" && location.reload())) : undefined), [error]);
  if (!path) return null;
  if (!page) {
    return (
      <Empty icon="search" title="Page not found.">
        <a href={href(FIRST)}>Go to chat</a>
      </Empty>
    );
  }
  if (error) {
    return (
      <div class="page">
        <Failure error={error} onRetry={() => location.reload()} />
      </div>
    );
  }
  const Page = loaded.get(path);
  return Page ? <Page /> : <Loading />;
}
