import { multipart } from '../helpers/multipart.ts';
import { basic, type Person } from '../helpers/person.ts';
import { PNG } from '../helpers/pictures.ts';
import { REST_CALLS, type RestCall } from '../helpers/rest-calls.ts';
import type { Battery, Input, Kind, Verdict } from './campaign.ts';
import type { Dice } from './dice.ts';
import { INSIDE, shown, timed } from './http.ts';
import { type Operation, type Parameter, readOperations } from './openapi.ts';
import type { Cast } from './stage.ts';
import { HOSTILE_JSON } from './texts.ts';
import { namedThing, valueLike } from './values.ts';

/**
 * Endpoints that can deactivate the sender's account or change its API key. Only victims send them: accounts that inputs are
 * permitted to end.
 */
const ENDS_SENDER = new Set(['DELETE /users/me', 'POST /users/me/api_key/regenerate']);
/** Endpoints that can deactivate the account that they name, or change its credentials. */
const ENDS_NAMED = new Set([
  'DELETE /users/{user_id}',
  'PATCH /users/{user_id}',
  'PATCH /users/{email}',
  'DELETE /bots/{bot_id}',
  'PATCH /bots/{bot_id}',
  'POST /bots/{bot_id}/api_key/regenerate',
]);
/** Matches endpoints that hash passwords, which takes a fifth of a second. Inputs choose them less often. */
const HASHES = /^(POST \/users|POST \/fetch_api_key|PATCH \/settings)$/;

/** Matches endpoints that always fail, because they need an external service which is not configured. */
const REFUSED = /videoprovider|jwt/;

const weightOf = ({ name }: Operation): number => (HASHES.test(name) || REFUSED.test(name) ? 0.2 : 1);

export async function restKind(url: string): Promise<Kind> {
  const operations = await readOperations({ url });
  const weighted = operations.map((operation) => [weightOf(operation), operation] as const);
  return {
    name: 'REST, from the OpenAPI file',
    lanes: 8,
    batch: 500,
    open: (cast) => new RestBattery(cast, weighted),
  };
}

/** A request before it is serialized: the values in its path, and its parameters. */
interface Draft {
  readonly slots: Record<string, string>;
  /** Parameters in the order in which they are sent. Names can repeat. */
  readonly fields: [name: string, value: string | Uint8Array][];
}

class RestBattery implements Battery {
  readonly #cast: Cast;
  readonly #operations: readonly (readonly [number, Operation])[];
  readonly #queues: (readonly [Person, string])[] = [];

  constructor(cast: Cast, operations: readonly (readonly [number, Operation])[]) {
    this.#cast = cast;
    this.#operations = operations;
  }

  next(dice: Dice): Input {
    const operation = dice.weighted(this.#operations);
    const draft = this.#draft(operation, dice);
    if (ENDS_NAMED.has(operation.name)) this.#sandbox(draft);
    const sender = this.#sender(operation, dice);
    const request = written(operation, draft, dice);
    const what = `${sender.name} ${request.method} ${shown(request.path, 120)} ${shown(String(request.body ?? ''), 200)}`;
    return { what, send: () => this.#send(operation, sender, request) };
  }

  async close(): Promise<void> {
    for (const [person, queue] of this.#queues) await person.rest('DELETE', '/events', { queue_id: queue });
  }

  #sender({ name }: Operation, dice: Dice): Person {
    if (ENDS_SENDER.has(name)) return dice.pick(this.#cast.victims.slice(1));
    const { owner } = this.#cast.scene;
    return dice.chance(0.6) ? owner : dice.pick(this.#cast.actors);
  }

  /**
   * Returns a mostly valid draft of a request, with random changes. It is a call that is known to work, or one made from the
   * OpenAPI description.
   */
  #draft(operation: Operation, dice: Dice): Draft {
    const calls = REST_CALLS[operation.name]?.(this.#cast.names) ?? [];
    const call = calls.length > 0 && dice.chance(0.7) ? dice.pick(calls) : this.#described(operation, dice);
    const draft = draftOf(operation, call);
    const changes = dice.weighted([
      [5, 0],
      [4, 1],
      [1, 2],
    ]);
    for (let i = 0; i < changes; i++) this.#change(operation, draft, dice);
    return draft;
  }

  #described({ parameters }: Operation, dice: Dice): RestCall {
    const given = parameters.filter(({ isRequired }) => isRequired || dice.chance(parameters.length > 12 ? 0.15 : 0.5));
    const value = (parameter: Parameter): unknown => {
      const { name, schema, isFile, isJson } = parameter;
      if (isFile) return PNG;
      const made = valueLike(schema, name, this.#cast, dice);
      return isJson ? JSON.stringify(made) : made;
    };
    const named = (place: (parameter: Parameter) => boolean) =>
      Object.fromEntries(given.filter(place).map((parameter) => [parameter.name, value(parameter)]));
    return {
      slots: named(({ place }) => place === 'path') as Record<string, string>,
      parameters: named(({ place }) => place !== 'path'),
    };
  }

  #change(operation: Operation, { slots, fields }: Draft, dice: Dice): void {
    const slot = Object.keys(slots);
    if (slot.length > 0 && dice.chance(0.2)) {
      const name = dice.pick(slot);
      const other = dice.chance(0.5) ? namedThing(name, this.#cast, dice) : dice.pick([dice.text(), dice.number()]);
      slots[name] = String(other);
      return;
    }
    const at = dice.int(0, fields.length + 1);
    const [name, value] = fields[at] ?? ['', ''];
    const parameter = operation.parameters.find((known) => known.name === name);
    if (parameter === undefined) {
      const more = operation.parameters.filter(({ place }) => place !== 'path');
      const added = more.length > 0 && dice.chance(0.7) ? dice.pick(more) : undefined;
      const made = added === undefined ? dice.json() : valueLike(added.schema, added.name, this.#cast, dice);
      fields.push([added?.name ?? dice.text(), typeof made === 'string' ? made : JSON.stringify(made)]);
    } else if (dice.chance(0.12)) fields.splice(at, 1);
    else if (dice.chance(0.08)) fields.push([name, dice.text()]);
    else if (typeof value !== 'string') fields[at] = [name, dice.text()];
    else fields[at] = [name, changed(parameter, value, dice)];
  }

  /** Replaces the ids and email addresses of sending accounts in the path with those of a victim. */
  #sandbox({ slots }: Draft): void {
    const { actors, names } = this.#cast;
    for (const [name, value] of Object.entries(slots)) {
      const isActor = actors.some(({ id, email }) => Number(value) === id || value.toLowerCase().includes(email));
      if (isActor)
        slots[name] = String(name === 'email' ? names.email : name === 'bot_id' ? names.botId : names.userId);
    }
  }

  async #send(operation: Operation, sender: Person, { method, path, headers, body }: Request): Promise<Verdict> {
    const authorization = sender.authorization ?? basic('', '');
    const sent = { method, path, body, headers: { host: sender.host, authorization, ...headers } };
    const { reply, milliseconds, error } = await timed(sender.url, sent);
    if (reply === undefined) return { label: 'none', isSuccess: false, milliseconds, faults: [`no answer: ${error}`] };
    const { status, text } = reply;
    const faults: string[] = [];
    if (status >= 500) faults.push(`status ${status}`);
    if (reply.headers['x-content-type-options'] !== 'nosniff' && status !== 204) faults.push('may be sniffed');
    if (reply.headers['cache-control'] !== 'private, no-store') faults.push('may be cached');
    if (method === 'HEAD' || status === 204 || status === 302) {
      return { label: String(status), isSuccess: status < 400, milliseconds, faults };
    }
    const parsed = parse(text);
    const isOverridden = /(^|[?&])method=/.test(`${path}&${String(body ?? '')}`);
    // Compares the response with the OpenAPI description only if this endpoint has answered. A changed method or path can
    // address another endpoint.
    const isItself = operation.path.replaceAll(/\{\w+\}/g, '') === operation.path || status === 200;
    const problem = parsed === undefined ? 'the reply is no JSON' : operation.problemOf(status, parsed);
    if (problem !== undefined && isItself && !isOverridden && !headers['x-other-path']) faults.push(problem);
    if (status !== 200 && INSIDE.test(text)) faults.push(`shows its inside: ${shown(text)}`);
    const { queue_id: queue, code } = (parsed ?? {}) as { queue_id?: string; code?: string };
    if (status === 200 && queue !== undefined) this.#queues.push([sender, queue]);
    return {
      label: status === 200 ? '200' : `${status} ${code ?? ''}`.trim(),
      isSuccess: status === 200,
      milliseconds,
      faults,
    };
  }
}

function draftOf({ parameters }: Operation, { slots = {}, parameters: given = {} }: RestCall): Draft {
  const files = new Set(parameters.filter(({ isFile }) => isFile).map(({ name }) => name));
  const fields = Object.entries(given)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]): [string, string | Uint8Array] => {
      if (value instanceof Uint8Array || files.has(name)) return [name, value as Uint8Array];
      return [name, typeof value === 'string' ? value : JSON.stringify(value)];
    });
  return { slots: Object.fromEntries(Object.entries(slots).map(([name, value]) => [name, String(value)])), fields };
}

function changed({ isJson, schema }: Parameter, value: string, dice: Dice): string {
  if (!isJson) {
    if (schema.enum !== undefined && dice.chance(0.6)) return String(dice.pick(schema.enum));
    const at = dice.int(0, value.length + 1);
    return dice.pick([dice.text(), value.slice(0, at) + dice.text() + value.slice(at), value + value]);
  }
  if (dice.chance(0.15)) return dice.pick(HOSTILE_JSON);
  // An earlier change can have set a hostile text. `JSON.stringify` has too small a stack for the most deeply nested of these.
  if (HOSTILE_JSON.includes(value)) return value;
  const text = JSON.stringify(dice.mutated(parse(value))) ?? '';
  // Adds a duplicate key, which `JSON.stringify` never writes.
  return dice.chance(0.05) ? text.replace('{', '{"id":1,"id":2,') : text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A request, ready to be sent. */
interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
}

const AGENTS = ['', 'Mobile/1.0', 'x'.repeat(2_000), 'TerminalClient/0.7 (Linux) ', '(((((((', 'é'];

function written({ method, path, isOpen }: Operation, { slots, fields }: Draft, dice: Dice): Request {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => slotText(slots[name] ?? '', dice));
  const inQuery = method === 'GET' || dice.chance(0.05);
  const isMultipart = !inQuery && (fields.some(([, value]) => value instanceof Uint8Array) || dice.chance(0.05));
  const texts = fields.map(
    ([name, value]) => [name, typeof value === 'string' ? value : String(value)] as [string, string],
  );
  const form = formText(texts, dice);
  const query = inQuery ? form : '';
  const headers: Record<string, string> = {};
  if (dice.chance(0.1)) headers['user-agent'] = dice.pick(AGENTS).replaceAll(/[^\x20-\x7e]/g, '?');
  if (!isOpen && dice.chance(0.1)) headers['idempotency-key'] = dice.chance(0.8) ? `key ${dice.int(0, 10_000)}` : '"';
  let body: string | Buffer | undefined;
  if (isMultipart) {
    const { type, content } = multipart(fields.map(([name, value]) => [name.replaceAll(/["\r\n]/g, '_'), value]));
    headers['content-type'] = type;
    body = content;
  } else if (!inQuery && form !== '') {
    headers['content-type'] = dice.chance(0.98)
      ? 'application/x-www-form-urlencoded'
      : dice.pick(['application/json', 'text/plain', 'multipart/form-data', 'multipart/form-data; boundary=""', ';']);
    body = form;
  }
  const asked = dice.weighted([
    [97, method],
    [1, 'HEAD'],
    [1, 'OPTIONS'],
    [1, 'PUT'],
  ]);
  if (asked !== method && asked !== 'HEAD') headers['x-other-path'] = '1';
  const target = `/api/v1${filled}${query === '' ? '' : `?${query}`}`;
  // Invalid request heads are tested elsewhere, on raw connections.
  return { method: asked, path: target.slice(0, 30_000), headers, body: asked === 'HEAD' ? undefined : body };
}

function slotText(value: string, dice: Dice): string {
  const text = encodeURIComponent(value.toWellFormed());
  return dice.chance(0.02) ? text + dice.pick(['%', '%00', '%zz', '%ED%A0%80', '/', '//', '%2F..%2F', '.']) : text;
}

function formText(fields: readonly [string, string][], dice: Dice): string {
  const text = new URLSearchParams([...fields]).toString();
  return dice.chance(0.02) ? text + dice.pick(['&%', '&%ff=%ff', '&=', '&&&', '&a[b]=c', '&method=GET', '%00']) : text;
}
