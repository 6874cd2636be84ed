/** The window, drawn. */

import { render } from "preact";
import { Empty, Loading } from "./parts/empty";
import { Button } from "./parts/button";
import { Toasts } from "./parts/toast";
import { follow } from "./router";
import { access, comeIn, watchAccess } from "./state/access";
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
      return <Loading what="Coming in" />;
    case "out":
      return <Login />;
    case "unreachable":
      return (
        <main>
          <Empty icon="warning" title="The server cannot be reached.">
            <p>
              See whether <code>lra serve</code> still runs.
            </p>
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
void comeIn();
const root = document.getElementById("window");
if (root) render(<Window />, root);
