/** What is remembered: found, looked at, corrected, switched off, forgotten. */

import { place } from "../../router";
import { Detail } from "./detail";
import { Remembered } from "./remembered";
import { Undo } from "./undo";
import "./memory.css";

export default function Memory() {
  const [number] = place.value.rest;
  return (
    <div class="page memory">
      <Undo />
      {number ? <Detail key={number} number={number} /> : <Remembered />}
    </div>
  );
}
