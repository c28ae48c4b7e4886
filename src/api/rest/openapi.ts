import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import { ERROR_CODES } from '../../platform/errors.ts';
import { type Endpoint, scopesOf, slotsOf, takesIdempotencyKey } from './endpoint.ts';
import { isFile, isInPath, type Param, type Params } from './params.ts';
import { API_PREFIX } from './router.ts';

/** A JSON Schema, with the keywords that this file and the documentation read. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema | boolean;
  readonly prefixItems?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly [keyword: string]: unknown;
}

type Shared = Readonly<Record<string, Schema>>;

/** Prefix of references to the named schemas in the OpenAPI description. */
const SHARED = '#/components/schemas/';

/**
 * Returns the JSON Schema of a zod type, with all references inlined. `input` describes the values that clients send, `output`
 * the values that they receive.
 */
export function schemaOf(type: z.ZodType, io: 'input' | 'output'): Schema {
  const { schema, shared } = convert(type, io);
  return inlined(schema, shared) as Schema;
}

/** Returns the JSON Schema of a zod type. Named schemas in it are references, and `shared` contains these schemas by name. */
function convert(type: z.ZodType, io: 'input' | 'output'): { readonly schema: Schema; readonly shared: Shared } {
  const { $schema, $defs = {}, ...schema } = z.toJSONSchema(type, { io, unrepresentable: 'any' });
  return { schema: tidied(schema) as Schema, shared: tidied($defs) as Shared };
}

function tidied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidied);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, inner]) => !isSafeRange(key, inner) && !isName(key, inner))
      .map(([key, inner]) => [key, key === '$ref' ? `${SHARED}${nameOf(inner)}` : tidied(inner)]),
  );
}

/**
 * Returns whether an entry of a JSON Schema is a bound at the limit of safe integers. zod adds such bounds to every integer,
 * which hides the meaningful bounds.
 */
const isSafeRange = (key: string, bound: unknown) =>
  key.endsWith('imum') && Math.abs(Number(bound)) === Number.MAX_SAFE_INTEGER;

/**
 * Returns whether an entry of a JSON Schema is the schema's name, which zod adds as `id`. If an object has a property called
 * `id`, the value is a schema, not a string.
 */
const isName = (key: string, inner: unknown) => key === 'id' && typeof inner === 'string';

const nameOf = (reference: unknown) => String(reference).split('/').at(-1) ?? '';

function inlined(value: unknown, shared: Shared): unknown {
  if (Array.isArray(value)) return value.map((inner) => inlined(inner, shared));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = value as Schema;
  const whole = $ref === undefined ? rest : { ...shared[nameOf($ref)], ...rest };
  return Object.fromEntries(Object.entries(whole).map(([key, inner]) => [key, inlined(inner, shared)]));
}

/** Returns the parameters of an endpoint that are not in the path, by name. */
export function fieldsOf({ params }: Endpoint): [string, Param][] {
  return Object.entries(params).filter(([, param]) => !isInPath(param));
}

/**
 * Returns the OpenAPI 3.1 description of the endpoints.
 *
 * @throws Error if two different schemas have the same name.
 */
export function openApi(routes: readonly Endpoint[]): object {
  const paths: Record<string, Record<string, object>> = {};
  const schemas: Record<string, Schema> = { Error: ERROR };
  for (const endpoint of routes) {
    const { schema, shared } = convert(z.object(endpoint.reply), 'output');
    for (const [name, named] of Object.entries(shared)) {
      schemas[name] ??= named;
      if (!isDeepStrictEqual(schemas[name], named)) throw new Error(`Two schemas have the name ${name}`);
    }
    paths[endpoint.path] ??= {};
    Object.assign(paths[endpoint.path] ?? {}, { [endpoint.method.toLowerCase()]: operation(endpoint, schema) });
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Team chat service: REST',
      version: packageJson.version,
      description:
        'Parameters are form fields, in the query string or in a form-encoded body. Strings are sent as they are, all ' +
        'other types as JSON text in one field. Unknown parameters are ignored, and listed in ' +
        '`ignored_parameters_unsupported`. Every endpoint accepts `client`, the name of the calling program.',
      license: { name: packageJson.license, identifier: packageJson.license },
    },
    servers: [{ url: API_PREFIX }],
    paths,
    components: {
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic', description: 'API email as user name, API key as password.' },
      },
      schemas,
      responses: {
        Error: {
          description: 'The request was refused. Nothing was changed.',
          content: { 'application/json': { schema: ERROR_REF } },
        },
      },
    },
  };
}

const KEY_PARAMETER = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Idempotency key. A repeated request with the same key has no second effect, and gets the same response.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};
const ERROR_REF = { $ref: `${SHARED}Error` };
const ERROR = {
  type: 'object',
  required: ['result', 'msg', 'code'],
  properties: {
    result: { const: 'error' },
    msg: { type: 'string', description: 'Message for people. Programs must not parse it.' },
    code: { enum: [...ERROR_CODES, 'INTERNAL_SERVER_ERROR'], description: 'Error code, for programs.' },
  },
  additionalProperties: true,
};

/**
 * Returns the declared parameters with these names, in this order. The function `endpoint` ensures that each path parameter is
 * declared.
 */
const inOrder = (names: readonly string[], params: Params): [string, Param][] =>
  names.flatMap((name) => (params[name] === undefined ? [] : [[name, params[name]]]));

/**
 * Returns the OpenAPI operation of an endpoint.
 *
 * @param reply Schema of the fields that the endpoint adds to the success envelope.
 */
function operation(endpoint: Endpoint, reply: Schema) {
  const { method, path, equivalents, summary, description, permission, auth } = endpoint;
  const fields = fieldsOf(endpoint);
  const inQuery = method === 'GET';
  const inGraphql = `In GraphQL: ${equivalents.map((equivalent) => `\`${equivalent}\``).join(', ')}.`;
  const scopes = scopesOf(endpoint);
  const needs =
    scopes.length === 0 ? undefined : `Scopes of the API key: ${scopes.map((scope) => `\`${scope}\``).join(', ')}.`;
  const notes = [description, permission === undefined ? undefined : `Available to ${permission}.`, needs, inGraphql];
  return {
    operationId: operationId(endpoint),
    summary,
    description: notes.filter((note) => note !== undefined).join('\n\n'),
    tags: [path.split('/')[1]],
    security: auth === 'none' ? [] : [{ basic: [] }],
    parameters: [
      ...inOrder(slotsOf(path), endpoint.params).map(([name, param]) => slotParameter(name, param)),
      ...(inQuery ? fields.map(([name, param]) => queryParameter(name, param)) : []),
      ...(takesIdempotencyKey(endpoint) ? [KEY_PARAMETER] : []),
    ],
    ...(!inQuery && fields.length > 0 && { requestBody: formBody(fields) }),
    responses: {
      ...(endpoint.redirects !== 'always' && {
        200: { description: 'Success.', content: { 'application/json': { schema: successSchema(reply) } } },
      }),
      ...(endpoint.redirects !== undefined && {
        302: { description: 'Redirect of the browser.', headers: { Location: { schema: { type: 'string' } } } },
      }),
      default: { $ref: '#/components/responses/Error' },
    },
  };
}

/** Returns an operation id such as `getUsersMe` or `patchChannelFoldersByChannelFolderId`. */
function operationId({ method, path }: Endpoint): string {
  const words = path.replaceAll(/\{(\w+)\}/g, 'by_$1').split(/[/_]/);
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

const slotParameter = (name: string, param: Param) => ({
  name,
  in: 'path',
  required: true,
  schema: schemaOf(param.type, 'input'),
  ...described(param),
});

function queryParameter(name: string, param: Param) {
  const schema = schemaWithDefault(param);
  return {
    name,
    in: 'query',
    required: param.presence === 'required',
    ...described(param),
    ...(param.encoding === 'json' ? { content: { 'application/json': { schema } } } : { schema }),
  };
}

function formBody(fields: readonly [string, Param][]) {
  const required = fields.filter(([, { presence }]) => presence === 'required').map(([name]) => name);
  const schema = {
    type: 'object',
    properties: Object.fromEntries(
      fields.map(([name, param]) => [name, { ...schemaWithDefault(param), ...described(param) }]),
    ),
    ...(required.length > 0 && { required }),
  };
  const encoding = Object.fromEntries(
    fields
      .filter(([, param]) => param.encoding === 'json')
      .map(([name]) => [name, { contentType: 'application/json' }]),
  );
  const content = { schema, encoding };
  const needsFile = fields.some(([, param]) => isFile(param) && param.presence === 'required');
  return {
    required: required.length > 0,
    content: { ...(!needsFile && { 'application/x-www-form-urlencoded': content }), 'multipart/form-data': content },
  };
}

/** Schema of an uploaded file. In OpenAPI 3.1, binary data is a string without a content encoding. */
const FILE: Schema = { type: 'string', contentMediaType: 'application/octet-stream' };

function schemaWithDefault(param: Param): Schema {
  if (isFile(param)) return FILE;
  const { type, fallback } = param;
  const schema = schemaOf(type, 'input');
  return fallback === undefined ? schema : { ...schema, default: fallback };
}

const described = ({ description, alias }: Param) => ({
  description: alias === undefined ? description : `${description} Also accepted as \`${alias}\`.`,
});

function successSchema({ properties, required = [] }: Schema): Schema {
  return {
    type: 'object',
    properties: {
      result: { const: 'success' },
      msg: { const: '' },
      ignored_parameters_unsupported: { type: 'array', items: { type: 'string' } },
      ...properties,
    },
    required: ['result', 'msg', ...required],
  };
}
