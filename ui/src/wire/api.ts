/** Asking the server: JSON in, JSON out, and one kind of failure. */

/** What went wrong, in the one shape in which the server tells it. */
export class ApiFailure extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly status: number,
    /** The whole answer, where there is more to it than words. */
    readonly told: unknown = null,
  ) {
    super(message);
  }
}

/** What may be put into an address. */
export type Query = Record<string, string | number | boolean | null | undefined>;

/** How a request is made. */
export interface Asking {
  query?: Query;
  json?: unknown;
  /** A body that is sent as it is. */
  body?: Blob;
  signal?: AbortSignal;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

let unauthorized: () => void = () => undefined;

/** Say what happens when the server wants a token. */
export function onUnauthorized(then: () => void): void {
  unauthorized = then;
}

/** A path with its query; what is null, undefined or empty is left out. */
export function address(path: string, query: Query = {}): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") pairs.set(name, String(value));
  }
  const text = pairs.toString();
  return text ? `${path}?${text}` : path;
}

/** Where a file of the workspace can be had. */
export function fileAddress(path: string, inline = false): string {
  return address("/api/files/content", { path, inline: inline || null });
}

/** Ask, and read the answer.
 *
 * Throws an ApiFailure when the server refuses, cannot be reached, or says what is no JSON.
 */
export async function ask<Answer>(method: Method, path: string, asking: Asking = {}): Promise<Answer> {
  const response = await answered(method, path, asking);
  if (response.status === 204) return undefined as Answer;
  const text = await response.text();
  const json = (response.headers.get("content-type") ?? "").includes("json");
  return (json ? JSON.parse(text) : text) as Answer;
}

/** Ask, and hand the answer over as it comes.
 *
 * Throws an ApiFailure when the server refuses or cannot be reached.
 */
export async function answered(method: Method, path: string, asking: Asking = {}): Promise<Response> {
  const response = await sent(method, path, asking);
  if (!response.ok) throw failureOf(response.status, await response.text());
  return response;
}

export const api = {
  get: <Answer>(path: string, query: Query = {}, signal?: AbortSignal) =>
    ask<Answer>("GET", path, signal ? { query, signal } : { query }),
  post: <Answer>(path: string, json: unknown = {}) => ask<Answer>("POST", path, { json }),
  patch: <Answer>(path: string, json: unknown) => ask<Answer>("PATCH", path, { json }),
  put: <Answer>(path: string, json: unknown) => ask<Answer>("PUT", path, { json }),
  delete: <Answer>(path: string, query: Query = {}) => ask<Answer>("DELETE", path, { query }),
  upload: <Answer>(path: string, query: Query, body: Blob) =>
    ask<Answer>("PUT", path, { query, body }),
};

async function sent(method: Method, path: string, asking: Asking): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  const init: RequestInit = { method, headers, credentials: "same-origin" };
  if (asking.json !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(asking.json);
  } else if (asking.body) {
    headers["Content-Type"] = "application/octet-stream";
    init.body = asking.body;
  }
  if (asking.signal) init.signal = asking.signal;
  try {
    return await fetch(address(path, asking.query), init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw unreachable();
  }
}

/** Nobody answered. */
export function unreachable(): ApiFailure {
  return new ApiFailure(
    "unreachable",
    "The server cannot be reached.",
    "It may have been stopped. This page continues as soon as it answers.",
    0,
  );
}

/** What an answer says that is none: its status and its words. */
export function failureOf(status: number, text: string): ApiFailure {
  const told = parsed(text);
  if (status === 401) unauthorized();
  return new ApiFailure(
    told.code ?? "failed",
    told.message ?? `The server answered ${status}.`,
    told.hint ?? "",
    status,
    told,
  );
}

function parsed(text: string): { code?: string; message?: string; hint?: string } {
  try {
    const said: unknown = JSON.parse(text);
    return typeof said === "object" && said !== null ? said : {};
  } catch {
    return {};
  }
}

/** Anything that was thrown, as a failure that can be shown. */
export function asFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ApiFailure("broken", `Something went wrong on this page: ${message}`, "Reload the page.", 0);
}
