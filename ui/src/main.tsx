/** The window, drawn. */

import { render } from "preact";
import { Empty, Loading } from "./parts/empty";
import { Button } from "./parts/button";
import { Toasts, tellFailure } from "./parts/toast";
import { follow } from "./router";
import { access, comeIn, watchAccess } from "./state/access";
import { notifyOfApprovals } from "./state/notify";
import { deliverUnsent } from "./state/session";
import { followTheme } from "./state/theme";
import { followKeys } from "./shell/keys";
import { Login } from "./shell/login";
import { Outlet } from "./shell/outlet";
import { Overlays } from "./shell/overlays";
import { Shell } from "./shell/shell";
import "./style/tokens.css";
import "./style/base.css";
import "./style/parts.css";
import "./style/shell.css";
import "./style/prose.css";

function Window() {
  switch (access.value) {
    case "asking":
      return <Loading what="Connecting" />;
    case "out":
      return <Login />;
    case "unreachable":
      return (
        <main>
          <Empty icon="warning" title="The server cannot be reached.">
            <p>It may have been stopped. This page continues as soon as it answers.</p>
            <Button onClick={() => void comeIn()}>Try again</Button>
          </Empty>
        </main>
      );
    case "in":
      return (
        <>
          <Shell>
            <Outlet />
          </Shell>
          <Overlays />
          <Toasts />
        </>
      );
  }
}

followTheme();
follow();
followKeys();
watchAccess();
notifyOfApprovals();
void comeIn().then(() => deliverUnsent(tellFailure));
const root = document.getElementById("window");
if (root) render(<Window />, root);
