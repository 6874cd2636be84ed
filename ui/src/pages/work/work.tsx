/** Deep work: all works, or one with its plan, evidence, budget and report. */

import { place } from "../../router";
import { One } from "./one";
import { Works } from "./works";
import "./work.css";

export default function WorkPage() {
  const [id] = place.value.rest;
  return <div class="page work">{id ? <One key={id} id={id} /> : <Works />}</div>;
}
