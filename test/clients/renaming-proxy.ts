import { once } from 'node:events';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { Json } from '../helpers/http.ts';
import { type HttpServer, startHttpServer } from '../helpers/http-server.ts';

/** Pairs of names for the same field: in published clients, and in this service. Only names that contain a brand differ. */
const NAMES: readonly (readonly [theirs: string, ours: string])[] = [
  ['zulip_feature_level', 'service_feature_level'],
  ['zulip_version', 'service_version'],
  ['zulip_merge_base', 'service_merge_base'],
  ['zulip_extra_emoji', 'service_extra_emoji'],
  ['zulip_plan_is_not_limited', 'service_plan_is_not_limited'],
  ['realm_zulip_update_announcements_stream_id', 'realm_service_update_announcements_stream_id'],
  ['zulip_update_announcements_stream_id', 'service_update_announcements_stream_id'],
];
/** Name of the service's own emoji in published clients, and its name in this service. The code of the emoji differs, too. */
const EMOJI = ['zulip', 'team_chat'] as const;
const EMOJI_FIELDS = new Set(['emoji_name', 'emoji_code']);

/**
 * Replaces the names of one client program by those of the REST interface, or the reverse: names of fields and emoji, and texts
 * that consist only of a name.
 */
class Renamer {
  readonly #names: ReadonlyMap<string, string>;
  readonly #emoji: readonly [string, string];

  constructor(names: readonly (readonly [string, string])[], emoji: readonly [string, string]) {
    this.#names = new Map(names);
    this.#emoji = emoji;
  }

  name(name: string): string {
    return this.#names.get(name) ?? name;
  }

  text(text: string, field: string): string {
    if (EMOJI_FIELDS.has(field) && text === this.#emoji[0]) return this.#emoji[1];
    return this.name(text);
  }

  json(value: Json, field = ''): Json {
    if (Array.isArray(value)) return value.map((one) => this.json(one, field));
    if (typeof value === 'string') return this.text(value, field);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [this.name(name), this.json(one, name)]));
  }

  /** Translates the names in the value of a parameter, which is JSON or text. */
  parameter(text: string, field: string): string {
    if (!/^[[{]/.test(text)) return this.text(text, field);
    try {
      return JSON.stringify(this.json(JSON.parse(text), field));
    } catch {
      return text;
    }
  }

  form(encoded: string): string {
    const fields = [...new URLSearchParams(encoded)];
    return new URLSearchParams(
      fields.map(([name, value]) => [this.name(name), this.parameter(value, name)]),
    ).toString();
  }

  /** Translates the names and texts of fields in a multipart body. Files stay unchanged. */
  multipart(body: Buffer): Buffer {
    const part = /(content-disposition: form-data; name=")([^"]+)("\r\n\r\n)([^\r]*)/gi;
    const renamed = body
      .toString('latin1')
      .replace(part, (_, head: string, name: string, middle: string, value: string) => {
        const text = Buffer.from(value, 'latin1').toString();
        return head + this.name(name) + middle + Buffer.from(this.parameter(text, name)).toString('latin1');
      });
    return Buffer.from(renamed, 'latin1');
  }
}

const toOurs = new Renamer(NAMES, EMOJI);
const toTheirs = new Renamer(
  NAMES.map(([theirs, ours]) => [ours, theirs] as const),
  [EMOJI[1], EMOJI[0]],
);

/**
 * Starts a proxy that translates names in requests and responses. Paths, statuses and other values stay unchanged.
 *
 * @param place Address of the service. `host` is the Host header of the organization.
 */
export function startRenamingProxy(place: { url: string; host: string }): Promise<HttpServer> {
  return startHttpServer((incoming, outgoing) => {
    forward(place, incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
  });
}

async function forward(place: { url: string; host: string }, incoming: IncomingMessage, outgoing: ServerResponse) {
  const [path = '/', query] = (incoming.url ?? '/').split('?');
  const { 'content-length': _, 'transfer-encoding': _coding, 'accept-encoding': _how, ...headers } = incoming.headers;
  const body = bodyOf(await bytesOf(incoming), headers['content-type'] ?? '');
  const there = request(new URL(path + (query === undefined ? '' : `?${toOurs.form(query)}`), place.url), {
    ...(incoming.method !== undefined && { method: incoming.method }),
    headers: { ...headers, host: place.host, ...(body.length > 0 && { 'content-length': body.length }) },
  });
  outgoing.once('close', () => there.destroy());
  there.end(body);
  const [answer] = (await once(there, 'response')) as [IncomingMessage];
  const bytes = await bytesOf(answer);
  const isJson = answer.headers['content-type']?.startsWith('application/json') === true && bytes.length > 0;
  const text = isJson ? JSON.stringify(toTheirs.json(JSON.parse(bytes.toString()))) : bytes;
  const { 'content-length': _length, 'transfer-encoding': _chunks, ...kept } = answer.headers;
  outgoing.writeHead(answer.statusCode ?? 502, kept);
  outgoing.end(text);
}

function bodyOf(bytes: Buffer, type: string): Buffer {
  if (type.startsWith('multipart/form-data')) return toOurs.multipart(bytes);
  return type.startsWith('application/x-www-form-urlencoded') ? Buffer.from(toOurs.form(bytes.toString())) : bytes;
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
