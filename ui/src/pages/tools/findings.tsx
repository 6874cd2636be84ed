/** What a review has found, by line. */

import { Icon } from "../../parts/icon";
import type { Finding } from "../../wire/responses";

export function Findings({ findings, onGo }: { findings: readonly Finding[]; onGo?: (line: number) => void }) {
  return (
    <ul class="findings" aria-label="Findings">
      {findings.map((finding, index) => (
        <li key={index} class={finding.severity === "error" ? "finding finding-bad" : "finding"}>
          <Icon name={finding.severity === "error" ? "close" : "warning"} />
          <div class="grow">
            <div>
              {finding.line > 0 &&
                (onGo ? (
                  <button type="button" class="line-link" onClick={() => onGo(finding.line)}>
                    Line {finding.line}
                  </button>
                ) : (
                  <span class="soft">Line {finding.line}</span>
                ))}{" "}
              {finding.message}
            </div>
            {finding.repair && <div class="soft small">{finding.repair}</div>}
          </div>
        </li>
      ))}
    </ul>
  );
}
