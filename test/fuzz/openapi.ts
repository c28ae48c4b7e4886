import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Schema } from '../../src/api/rest/openapi.ts';
import { send } from '../helpers/http.ts';
import type { Target } from './stage.ts';

/** A parameter of an endpoint, read from the OpenAPI description of the service. */
export interface Parameter {
  readonly name: string;
  readonly place: 'path' | 'query' | 'form';
  readonly isRequired: boolean;
  readonly isJson: boolean;
  readonly isFile: boolean;
  readonly schema: Schema;
}

/** An endpoint, read from the OpenAPI description of the service. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  /** Method and path: "GET /users/{user_id}". */
  readonly name: string;
  readonly isOpen: boolean;
  readonly parameters: readonly Parameter[];
  /** Returns a description of how a response differs from the OpenAPI description. Undefined if it does not. */
  problemOf(status: number, body: unknown): string | undefined;
}

interface Media {
  readonly schema: Schema;
  readonly encoding?: Readonly<Record<string, { readonly contentType: string }>>;
}

interface Described {
  readonly security: readonly object[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema?: Schema;
    readonly content?: Readonly<Record<string, Media>>;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: { readonly Error: Schema } };
}

/** Paths whose responses contain fields of the client state, which the OpenAPI description does not list completely. */
const STATES = new Set(['/register', '/events']);

/** Returns all endpoints in the OpenAPI description that the server returns. */
export async function readOperations({ url }: Pick<Target, 'url'>): Promise<Operation[]> {
  const { text } = await send(url, { method: 'GET', path: '/api/v1/openapi.json', headers: {} });
  const { paths, components } = JSON.parse(text) as Document;
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
  const isError = ajv.compile(components.schemas.Error);
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => {
      const schema = described.responses['200']?.content?.['application/json']?.schema;
      const isSuccess = schema && ajv.compile({ ...schema, components, additionalProperties: STATES.has(path) });
      return {
        method: method.toUpperCase(),
        path,
        name: `${method.toUpperCase()} ${path}`,
        isOpen: described.security.length === 0,
        parameters: parametersOf(described),
        problemOf: (status: number, body: unknown) => problem(status === 200 ? isSuccess : isError, body),
      };
    }),
  );
}

function problem(validate: ValidateFunction | undefined, body: unknown): string | undefined {
  if (validate === undefined || validate(body)) return undefined;
  const [error] = validate.errors ?? [];
  const extra: unknown = error?.params?.['additionalProperty'];
  const place = (error?.instancePath ?? '').replaceAll(/\/\d+/g, '/N');
  return `the reply is not as described: ${place} ${error?.message}${extra === undefined ? '' : ` (${extra})`}`;
}

function parametersOf({ parameters, requestBody }: Described): Parameter[] {
  const outside = parameters
    .filter((parameter) => parameter.in === 'path' || parameter.in === 'query')
    .map(({ name, in: place, required = false, schema, content }): Parameter => {
      const json = content?.['application/json']?.schema;
      return {
        ...{ name, place: place as 'path' | 'query', isRequired: required },
        ...{ isJson: json !== undefined, isFile: false, schema: json ?? schema ?? {} },
      };
    });
  const { schema, encoding = {} } = Object.values(requestBody?.content ?? {})[0] ?? { schema: {} };
  const inside = Object.entries(schema.properties ?? {}).map(
    ([name, property]): Parameter => ({
      ...{ name, place: 'form', schema: property, isRequired: schema.required?.includes(name) ?? false },
      ...{ isJson: encoding[name] !== undefined, isFile: property['contentMediaType'] !== undefined },
    }),
  );
  return [...outside, ...inside];
}
