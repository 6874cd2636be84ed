/** Jobs: those there are, one of them, or a new one. */

import { place } from "../../router";
import { List } from "./list";
import { Make, MAKE } from "./make";
import { One } from "./one";
import "./jobs.css";

export default function Jobs() {
  const [id] = place.value.rest;
  return <div class="page">{id === MAKE ? <Make /> : id ? <One key={id} id={id} /> : <List />}</div>;
}
