/** A chain, drawn: what it is, or how far a turn has come in it. */

import { Fragment } from "preact";
import { LEFT, STRATEGIES, WIDTH, drawingOf, linkWords, type Box, type LinkShown } from "./chain";
import type { ChainStrategy } from "../wire/responses";

const LONGEST = 42;
const INSET = 12;

export function ChainGraph({ strategy, links }: { strategy: ChainStrategy; links: readonly LinkShown[] }) {
  const { height, boxes, arrows } = drawingOf(strategy, links);
  return (
    <figure class="chain">
      <figcaption class="small soft">
        {STRATEGIES[strategy]}
        <ol class="unseen">
          {links.map((link) => (
            <li key={link.number}>{linkWords(link)}</li>
          ))}
        </ol>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${height}`} aria-hidden="true">
        {arrows.map(({ line, tip }) => (
          <Fragment key={line}>
            <path class="chain-arrow" d={line} />
            <path class="chain-tip" d={tip} />
          </Fragment>
        ))}
        {boxes.map((box) => (
          <LinkBox key={box.link.number} box={box} />
        ))}
      </svg>
    </figure>
  );
}

function LinkBox({ box: { link, y, height } }: { box: Box }) {
  return (
    <g class={`chain-link chain-${link.state}`}>
      <title>{linkWords(link)}</title>
      <rect x={LEFT} y={y} width={WIDTH - LEFT - 1} height={height} rx="8" />
      <text class="chain-name" x={LEFT + INSET} y={y + 20}>
        {link.number}. {clipped(link.agent)}
      </text>
      {link.lines.map((line, index) => (
        <text key={index} class="chain-line" x={LEFT + INSET} y={y + 38 + 17 * index}>
          {clipped(line)}
        </text>
      ))}
    </g>
  );
}

function clipped(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
