import { getVariableValues, type OperationDefinitionNode, parse, print } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Endpoint, slotsOf } from '../../src/api/rest/endpoint.ts';
import { isFile, isInPath, type Param } from '../../src/api/rest/params.ts';
import { ERROR_CODES } from '../../src/platform/errors.ts';
import { routes } from '../../src/server/registries/features.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import {
  documentOf,
  GRAPHQL_CALLS,
  type GraphQLCall,
  inputFieldsGiven,
  inputFieldsOf,
  REFUSALS,
} from '../helpers/graphql-calls.ts';
import { HUGE, hostileJson, LONG, NO_IDS, NOT_JSON } from '../helpers/hostile.ts';
import { type Json, send } from '../helpers/http.ts';
import { multipart } from '../helpers/multipart.ts';
import { operationBody, type Parameters, type Visitor } from '../helpers/person.ts';
import { NO_PICTURES, PNG } from '../helpers/pictures.ts';
import { pathOf, REST_CALLS, type RestCall } from '../helpers/rest-calls.ts';
import { contentsOf, makeScene, nothing, type Scene } from '../helpers/scene.ts';

const endpoints = routes.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const);

/** The outcome of one hostile request. */
interface Outcome {
  readonly what: string;
  readonly status: number;
  readonly code: unknown;
  /** Violations in the response itself, such as internal details. Independent of the expected status. */
  readonly faults: readonly string[];
}

type Fields = Readonly<Record<string, string | undefined>>;

interface Attempt {
  readonly what: string;
  readonly path: string;
  readonly method?: string;
  readonly fields?: Fields;
  readonly body?: { readonly type?: string; readonly content: string | Buffer };
}

/** Matches internal details of the machine, the database or the code, which no response may contain. */
const INSIDE =
  /node_modules|\.ts:\d|\bat \w+ \(|prisma|postgres|pglite|SELECT |INSERT |UPDATE |relation "|\[object Object\]|: undefined/;

async function attempt(visitor: Visitor, { what, path, method = 'GET', fields = {}, body }: Attempt): Promise<Outcome> {
  const sent = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  const encoded = new URLSearchParams(sent).toString();
  const inQuery = method === 'GET' || method === 'HEAD';
  const form =
    body ?? (inQuery || encoded === '' ? undefined : { type: 'application/x-www-form-urlencoded', content: encoded });
  const reply = await send(visitor.url, {
    method,
    path: `/api/v1${path}${inQuery && encoded !== '' ? `?${encoded}` : ''}`,
    headers: { ...visitor.headers, ...(form?.type !== undefined && { 'content-type': form.type }) },
    body: form?.content,
  });
  const faults: string[] = [];
  if (reply.status >= 500) faults.push('a fault of the server');
  if (reply.headers['cache-control'] !== 'private, no-store') faults.push('may be cached');
  if (reply.text === '') return { what, status: reply.status, code: undefined, faults };
  const parsed = JSON.parse(reply.text);
  if (reply.status === 200) return { what, status: 200, code: undefined, faults };
  const { result, msg, code } = parsed;
  if (result !== 'error' || typeof msg !== 'string' || msg === '') faults.push(`no error envelope: ${reply.text}`);
  if (msg.length > 1000) faults.push('repeats its input');
  if (!ERROR_CODES.includes(code)) faults.push(`unknown code ${code}`);
  if (INSIDE.test(reply.text)) faults.push(`shows its inside: ${reply.text}`);
  return { what, status: reply.status, code, faults };
}

/** Returns the parameters of a call as form fields, without files. */
const encode = ({ parameters = {} }: RestCall): Record<string, string> =>
  Object.fromEntries(
    Object.entries(parameters)
      .filter(([, value]) => !(value instanceof Uint8Array))
      .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );

const fieldsOf = ({ params }: Endpoint) => Object.entries(params).filter(([, param]) => !isInPath(param));

/** Yields requests that every endpoint must refuse, because they break the rules for paths, parameters or bodies. */
function* attemptsOn(endpoint: Endpoint, calls: readonly RestCall[]): Generator<Attempt> {
  const { method, params } = endpoint;
  const [first = {}] = calls;
  for (const slot of slotsOf(endpoint.path)) {
    if (params[slot]?.encoding !== 'path-integer') continue;
    for (const value of sparing(NO_IDS, 'path-integer', 5)) {
      const path = pathOf(endpoint.path, { slots: { ...first.slots, [slot]: 'SLOT' } }).replace('SLOT', value);
      yield { what: `${slot} is ${value}`, method, path, fields: encode(first) };
    }
  }
  for (const [name, param] of fieldsOf(endpoint)) {
    const call = calls.find(({ parameters = {} }) => name in parameters) ?? first;
    const [path, fields] = [pathOf(endpoint.path, call), encode(call)];
    if (isFile(param)) {
      // Messages can link files of any kind.
      const isAny = endpoint.path === '/user_uploads';
      for (const [what, files] of hostileFiles.filter((one) => !isAny || one[0].startsWith('two'))) {
        const body = multipart([...Object.entries(fields), ...files]);
        yield { what: `${name} is ${what}`, method, path, body };
      }
      continue;
    }
    for (const value of hostileTo(name, param, call.parameters?.[name])) {
      yield { what: `${name} is ${shown(value)}`, method, path, fields: { ...fields, [name]: value } };
    }
    if (param.alias !== undefined) {
      yield { what: `${name} under both names`, method, path, fields: { ...fields, [param.alias]: fields[name] } };
    }
    if (param.presence !== 'required') continue;
    yield { what: `${name} is missing`, method, path, fields: { ...fields, [name]: undefined } };
  }
  if (method === 'GET' || !fieldsOf(endpoint).some(([, { presence }]) => presence === 'required')) return;
  for (const body of unreadable(encode(first))) {
    yield { what: `the body is ${body.type}`, method, path: pathOf(endpoint.path, first), body };
  }
}

/** Files that a form contains in place of one valid file, and that must be refused, by description. */
const hostileFiles: [what: string, files: [string, string | Buffer][]][] = [
  ...Object.entries(NO_PICTURES).map(([what, file]): [string, [string, Buffer][]] => [what, [['file', file]]]),
  [
    'two',
    [
      ['file', PNG],
      ['file', PNG],
    ],
  ],
  [
    'two of different names',
    [
      ['file', PNG],
      ['another', PNG],
    ],
  ],
  ['larger than the limit', [['file', Buffer.alloc(5 * 1024 * 1024 + 1, PNG)]]],
  ['larger than any body may be', [['file', Buffer.alloc(7 * 1024 * 1024, PNG)]]],
];

const shown = (text: string) => (text.length > 80 ? `${text.slice(0, 60)}… (${text.length})` : JSON.stringify(text));

/**
 * Kinds of parameters for which all values were tested. All endpoints validate a kind by the same code, so one test is enough.
 */
const tried = new Set<string>();

/** Returns all of `values` for the first parameter of a kind, and only every `every`-th value for later ones. */
function sparing<T>(values: readonly T[], kind: string, every: number): readonly T[] {
  if (tried.has(kind)) return values.filter((_, i) => i % every === 0);
  tried.add(kind);
  return values;
}

/** Returns whether texts of this parameter that are too long are truncated instead of refused. */
const isCut = (name: string) => /^(content|topic)$/.test(name);

function hostileTo(name: string, { encoding, type }: Param, good: unknown): string[] {
  if (encoding === 'text') {
    const wrong = ['nonsense', '', 'null', '7'].filter((text) => !type.safeParse(text).success);
    return ['a\0b', ...(isCut(name) ? [] : [LONG]), ...wrong];
  }
  const sample = typeof good === 'string' ? JSON.parse(good) : good;
  const wrong = [...NOT_JSON, ...hostileJson(sample).filter((text) => !type.safeParse(JSON.parse(text)).success)];
  const kind = JSON.stringify(z.toJSONSchema(type, { unrepresentable: 'any' }));
  return [...sparing(wrong, kind, 12)];
}

/** Returns `value` with its first list of numbers replaced. Undefined if it contains none. */
function withList(value: unknown, list: readonly number[]): unknown {
  if (Array.isArray(value) && typeof value[0] === 'number') return list;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const changed = withList(inner, list);
    if (changed !== undefined)
      return Array.isArray(value) ? value.with(Number(name), changed) : { ...value, [name]: changed };
  }
  return undefined;
}

/** Request bodies that cannot be read as a form. */
const unreadable = (fields: Record<string, string>) => [
  { type: 'application/json', content: JSON.stringify(fields) },
  { type: 'text/plain', content: new URLSearchParams(fields).toString() },
  { type: 'application/octet-stream', content: '\0\x01\x02' },
  { type: 'multipart/form-data', content: new URLSearchParams(fields).toString() },
  { type: 'multipart/form-data; boundary=x', content: '--y\r\n\r\n--y--' },
  { content: new URLSearchParams(fields).toString() },
  {
    type: 'application/x-www-form-urlencoded',
    content: new URLSearchParams({ ...fields, more: HUGE }).toString(),
  },
];

async function inTurn<T, R>(items: Iterable<T>, work: (item: T) => Promise<R>): Promise<R[]> {
  const queue = [...items].entries();
  const results: R[] = [];
  const worker = async () => {
    for (const [i, item] of queue) results[i] = await work(item);
  };
  await Promise.all(Array.from({ length: 6 }, worker));
  return results;
}

/** Creates an organization for hostile requests. After the tests, checks that the requests have changed nothing in it. */
function hostedBy(): { readonly scene: Scene } {
  const hosted = {} as { scene: Scene };
  let before: Json;
  beforeAll(async () => {
    hosted.scene = await makeScene();
    before = await contentsOf(hosted.scene);
  });
  afterAll(async () => expect(await contentsOf(hosted.scene)).toEqual(before));
  return hosted;
}

describe('REST', () => {
  const hosted = hostedBy();

  test('every endpoint has calls here that set each of its parameters', () => {
    const missing = endpoints.flatMap(([name, { params }]) => {
      const calls = REST_CALLS[name]?.(nothing()) ?? [];
      const given = new Set(calls.flatMap(({ slots, parameters }) => Object.keys({ ...slots, ...parameters })));
      return Object.keys(params)
        .filter((param) => !given.has(param))
        .map((param) => `${name} ${param}`);
    });
    expect(missing).toEqual([]);
    expect(Object.keys(REST_CALLS).toSorted()).toEqual(endpoints.map(([name]) => name).toSorted());
  });

  test.concurrent.for(endpoints)(
    '%s refuses invalid input, and stores nothing that it contains',
    async ([name, endpoint]) => {
      const { scene } = hosted;
      const caller = endpoint.auth === 'none' ? scene.anonymous : scene.owner;
      const calls = REST_CALLS[name]?.(scene.names) ?? [];
      const outcomes = await inTurn(attemptsOn(endpoint, calls), (hostile) => attempt(caller, hostile));
      expect(outcomes.filter(({ faults }) => faults.length > 0)).toEqual([]);
      expect(outcomes.filter(({ status }) => status < 400).map(({ what }) => what)).toEqual([]);
    },
  );

  test.concurrent.for(endpoints.filter(([, { auth }]) => auth === 'basic'))(
    '%s refuses requests without credentials, whatever their input',
    async ([name, endpoint]) => {
      const { anonymous, names } = hosted.scene;
      const call = REST_CALLS[name]?.(names)[0] ?? {};
      const path = pathOf(endpoint.path, call);
      for (const fields of [encode(call), { nonsense: '{' }]) {
        const { status, code, faults } = await attempt(anonymous, {
          what: name,
          method: endpoint.method,
          path,
          fields,
        });
        expect([status, code, faults]).toEqual([401, 'UNAUTHORIZED', []]);
      }
    },
  );

  test('lists with more ids than a query can have parameters cause no server error', async () => {
    const { owner, names } = hosted.scene;
    const ids = Array.from({ length: 33_000 }, (_, j) => 1_900_000_000 + j);
    for (const [name, { method, path }] of endpoints) {
      const call = REST_CALLS[name]?.(names).find(({ parameters = {} }) => withList(parameters, ids) !== undefined);
      if (call === undefined) continue;
      const fields = encode({ parameters: withList(call.parameters ?? {}, ids) as Parameters });
      const body = { type: 'application/x-www-form-urlencoded', content: new URLSearchParams(fields).toString() };
      const { status, faults } = await attempt(owner, { what: name, method, path: pathOf(path, call), body });
      // Requests for messages have a lower limit. Requests for other lists ignore unknown ids, so they succeed.
      const isTaken = method === 'GET' && !path.startsWith('/messages');
      expect([name, status < 400, faults]).toEqual([name, isTaken, []]);
    }
  });

  test.concurrent.for(Object.entries(Object.groupBy(routes, ({ path }) => path)))(
    '%s accepts only its own methods, and names them',
    async ([path, there = []]) => {
      const { owner, names } = hosted.scene;
      const methods: string[] = there.map(({ method }) => method);
      const own = methods.includes('GET') ? [...methods, 'HEAD'] : methods;
      const at = `/api/v1${pathOf(path, REST_CALLS[`${methods[0]} ${path}`]?.(names)[0] ?? {})}`;
      const ask = (method: string) => send(owner.url, { method, path: at, headers: owner.headers });
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'TRACE', 'OPTIONS']) {
        if (own.includes(method)) continue;
        const { status, headers, text } = await ask(method);
        expect([status, headers.allow], method).toEqual([method === 'OPTIONS' ? 204 : 405, own.toSorted().join(', ')]);
        expect(headers['cache-control']).toBe('private, no-store');
        if (status !== 405 || method === 'HEAD') continue;
        expect(JSON.parse(text)).toMatchObject({ code: 'BAD_REQUEST', allowed_methods: own.toSorted() });
      }
      if (!own.includes('GET')) return;
      const [full, head] = [await ask('GET'), await ask('HEAD')];
      expect([head.status, head.text, head.headers['cache-control']]).toEqual([full.status, '', 'private, no-store']);
    },
  );

  test('a method override in a form is accepted only in POST requests and only for valid methods', async () => {
    const { owner, names } = await makeScene();
    const path = `/saved_snippets/${names.snippetId}`;
    for (const method of ['TRACE', 'constructor', 'delete', 'GET ', '\0']) {
      const { status, body } = await owner.rest('POST', path, { method });
      expect([status, body.allowed_methods]).toEqual([405, ['DELETE', 'PATCH']]);
    }
    expect(await owner.ok('GET', '/saved_snippets', { method: 'POST', title: 'not', content: 'saved' })).toMatchObject({
      saved_snippets: [{ id: names.snippetId }],
      ignored_parameters_unsupported: ['content', 'method', 'title'],
    });
    await owner.ok('POST', path, { method: 'DELETE' });
    expect((await owner.ok('GET', '/saved_snippets')).saved_snippets).toEqual([]);
  });

  test.concurrent.for([
    ...['/nothing', '/', '', '/drafts/', '/drafts//', '/drafts/1/2', '/DRAFTS', '/drafts.json', '/drafts;x=1', '/%2e'],
    ...['/users/me/nothing', '/constructor', '/__proto__', '/drafts/%', '/drafts/%00', '/streams/1/members/', '/%'],
  ])('%s is an unknown address', async (path) => {
    const { owner } = hosted.scene;
    const { status, code, faults } = await attempt(owner, { what: path, path, method: 'POST', fields: { title: 't' } });
    expect([[404, 405].includes(status), code, faults]).toEqual([true, 'BAD_REQUEST', []]);
  });

  test('every endpoint accepts the valid form of these calls, and names the parameters that it ignored', async () => {
    const scene = await makeScene();
    const byName = new Map<string, Endpoint>(endpoints);
    for (const [name, make] of Object.entries(REST_CALLS)) {
      const { method, path, auth } = byName.get(name) as Endpoint;
      for (const call of make(scene.names)) {
        const caller = auth === 'none' ? scene.anonymous : scene[call.as ?? 'owner'];
        const strange = { query: JSON.parse('{"__proto__":"x"}') };
        const { status, body } = await caller.rest(
          method,
          pathOf(path, call),
          { ...call.parameters, constructor: 'x' },
          strange,
        );
        const outcome = call.refusal === undefined ? [200, ''] : [400, call.refusal];
        expect([status, body.msg], JSON.stringify([name, call])).toEqual(outcome);
        // The fields beside an uploaded file are not read.
        const ignored = name === 'POST /user_uploads' ? ['__proto__'] : ['__proto__', 'constructor'];
        if (call.refusal === undefined) expect(body.ignored_parameters_unsupported).toEqual(ignored);
      }
    }
  });
});

const schema = buildSchema();

/** One hostile GraphQL operation, and whether the types of its values alone must cause a refusal. */
interface HostileOperation {
  readonly what: string;
  readonly call: GraphQLCall;
  readonly isIllTyped: boolean;
}

function* operationsOn(calls: readonly GraphQLCall[]): Generator<HostileOperation> {
  const seen = new Set<string>();
  for (const call of calls) {
    const { variableDefinitions = [] } = parse(documentOf(schema, call)).definitions[0] as OperationDefinitionNode;
    for (const [name, good] of Object.entries(call.args)) {
      const definition = variableDefinitions.find(({ variable }) => variable.name.value === name);
      const everyThird = hostileJson(good).filter((_, i) => i % 3 === 0);
      const variants = definition === undefined ? everyThird : sparing(everyThird, print(definition.type), 8);
      for (const text of variants) {
        const args = { ...call.args, [name]: JSON.parse(text) };
        if (getVariableValues(schema, variableDefinitions, args).errors === undefined) continue;
        yield { what: `${name} is ${shown(text)}`, call: { ...call, args }, isIllTyped: true };
      }
      for (const [place, value] of hostileLeaves(good, name)) {
        if (seen.has(place)) continue;
        seen.add(place);
        yield { what: `${name}${place}`, call: { ...call, args: { ...call.args, [name]: value } }, isIllTyped: false };
      }
    }
  }
}

/** Yields copies of `good` in which one string or id is well-typed but must be refused, with the path of that value. */
function* hostileLeaves(good: unknown, key = ''): Generator<[string, unknown]> {
  if (typeof good === 'string' && !/^[A-Z_]+$/.test(good) && !/At$|^date$/.test(key)) {
    yield [' has a null byte', `${good}\0`];
    // The content and topics of drafts are truncated if they are too long.
    if (!/content|topic$/.test(key)) yield [' is long', LONG];
  } else if (typeof good === 'number' && /Ids?$|^(to|order)$/.test(key)) {
    for (const id of [0, 2 ** 31 - 1]) yield [` is ${id}`, id];
  } else if (Array.isArray(good)) {
    for (const [i, element] of good.entries()) {
      for (const [place, wrong] of hostileLeaves(element, key)) yield [`[${i}]${place}`, good.with(i, wrong)];
    }
  } else if (typeof good === 'object' && good !== null) {
    for (const [name, inner] of Object.entries(good)) {
      const called = name === 'named' || (key === 'topic' && name === 'name') ? 'topic' : name;
      for (const [place, wrong] of hostileLeaves(inner, called)) yield [`.${name}${place}`, { ...good, [name]: wrong }];
    }
  }
}

async function tryOperation(visitor: Visitor, { what, call, isIllTyped }: HostileOperation): Promise<Outcome> {
  const sent = operationBody({ query: documentOf(schema, call), variables: call.args });
  const { status, headers, text } = await send(visitor.url, {
    method: 'POST',
    path: '/graphql',
    headers: { ...visitor.headers, ...sent.headers, accept: 'application/graphql-response+json' },
    body: sent.body,
  });
  const { data, errors = [] } = JSON.parse(text);
  const result = data?.[call.field];
  const codes: string[] = errors.map(({ extensions }: Json) => extensions?.code);
  if (result?.code !== undefined) codes.push(result.code);
  const faults: string[] = [];
  if (headers['cache-control'] !== 'private, no-store') faults.push('may be cached');
  if (status !== (isIllTyped ? 400 : 200)) faults.push(`status ${status}`);
  if (isIllTyped && data !== undefined) faults.push('was carried out');
  if (codes.some((code) => !(ERROR_CODES as readonly string[]).includes(code))) faults.push(`codes ${codes}`);
  if (text.length > 10_000) faults.push('repeats its input');
  if (INSIDE.test(text.replaceAll('/graphql', ''))) faults.push(`shows its inside: ${text}`);
  // A mutation with a wrong value must fail. A query may succeed and return nothing.
  const isAccepted = codes.length === 0 && (isIllTyped || call.operation === 'mutation');
  return { what, status: isAccepted ? 200 : 400, code: codes[0], faults };
}

describe('GraphQL', () => {
  const hosted = hostedBy();
  const fields = [schema.getQueryType(), schema.getMutationType()].flatMap((root) =>
    Object.values(root?.getFields() ?? {}).map((field) => [`${root}.${field.name}`, field] as const),
  );

  test('every field has calls here that set each argument and input field that is not deprecated', () => {
    const names = nothing();
    const uses = fields.flatMap(([name, { args }]) => {
      const calls = GRAPHQL_CALLS[name]?.(names) ?? [];
      const current = args.filter(({ deprecationReason }) => deprecationReason == null);
      return current.map((arg) => {
        const values = calls.flatMap((call) => (arg.name in call.args ? [call.args[arg.name]] : []));
        const given = new Set(values.flatMap((value) => inputFieldsGiven(arg.type, value)));
        return {
          place: `${name} ${arg.name}`,
          isGiven: values.length > 0,
          given,
          all: [...inputFieldsOf(arg.type)],
          name,
        };
      });
    });
    // A field of an input type that several fields use must be set in a call of one of them.
    const usersOf = Map.groupBy(
      uses.flatMap(({ all, name }) => all.map((field) => ({ field, name }))),
      ({ field }) => field,
    );
    const isShared = (field: string) => new Set(usersOf.get(field)?.map(({ name }) => name)).size > 1;
    const givenAnywhere = new Set(uses.flatMap(({ given }) => [...given]));
    const missing = uses.flatMap(({ place, isGiven, given, all, name }) => {
      if (!isGiven) return [place];
      const isMissing = (field: string) => !(isShared(field) ? givenAnywhere : given).has(field);
      return all.filter(isMissing).map((field) => `${name} ${field}`);
    });
    expect(missing).toEqual([]);
    expect(Object.keys(GRAPHQL_CALLS).toSorted()).toEqual(fields.map(([name]) => name).toSorted());
  });

  test.concurrent.for(fields)('%s refuses invalid input, and stores nothing that it contains', async ([name]) => {
    const { scene } = hosted;
    const calls = GRAPHQL_CALLS[name]?.(scene.names) ?? [];
    const outcomes = await inTurn(operationsOn(calls), (hostile) => tryOperation(scene.owner, hostile));
    expect(outcomes.filter(({ faults }) => faults.length > 0)).toEqual([]);
    expect(outcomes.filter(({ status }) => status < 400).map(({ what }) => what)).toEqual([]);
  });

  test('every field accepts the valid form of these calls', async () => {
    const scene = await makeScene();
    for (const make of Object.values(GRAPHQL_CALLS)) {
      for (const call of make(scene.names)) {
        const { data, errors } = await scene[call.as ?? 'owner'].graphql(documentOf(schema, call), call.args);
        const told = errors?.[0].message ?? (data[call.field]?.code && data[call.field].message);
        expect(told, JSON.stringify([call, data])).toBe(REFUSALS[call.field]);
      }
    }
  });
});
