/** The chat. */

import { Empty } from "../../parts/empty";

export default function Chat() {
  return <Empty icon="chat" title="Say something." />;
}
