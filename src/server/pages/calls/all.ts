import { type Endpoint, slotsOf } from '../../../api/rest/endpoint.ts';
import { fieldsOf, type Schema, schemaOf } from '../../../api/rest/openapi.ts';
import { isFile, type Param } from '../../../api/rest/params.ts';
import { routes } from '../../registries/features.ts';
import { curlCall, type DemoCall, type DemoCalls, type Lead, leadLine } from './call.ts';
import { CHANNEL_CALLS } from './channels.ts';
import { MESSAGE_CALLS } from './messages.ts';
import { ORGANIZATION_CALLS } from './organization.ts';
import { PEOPLE_CALLS } from './people.ts';

/** Hand-written example calls, for endpoints whose generated call would not run in the demo organization. */
export const DEMO_CALLS: DemoCalls = { ...MESSAGE_CALLS, ...CHANNEL_CALLS, ...PEOPLE_CALLS, ...ORGANIZATION_CALLS };

export const nameOf = ({ method, path }: Pick<Endpoint, 'method' | 'path'>): string => `${method} ${path}`;

/**
 * Returns the hand-written parts of an endpoint's example call. If needed, adds a call that first creates the object that the
 * path names.
 */
export function demoCallOf(endpoint: Endpoint): DemoCall {
  const written = DEMO_CALLS[nameOf(endpoint)] ?? {};
  return written.slots === undefined ? { ...creationFor(endpoint), ...written } : written;
}

/**
 * Returns the call that creates the object in a path such as `/saved_snippets/{saved_snippet_id}`. That is a call of the POST
 * endpoint whose path begins with `/saved_snippets`, and whose reply contains a `saved_snippet_id`. Empty if there is no such
 * endpoint.
 */
function creationFor({ path }: Endpoint): Pick<DemoCall, 'first' | 'slots'> {
  const [list = '', id = ''] = /^(\/\w+)\/\{(\w+_id)\}$/.exec(path)?.slice(1) ?? [];
  const creation = routes.find(
    ({ method, path: of, reply }) => method === 'POST' && of.startsWith(list) && id in reply,
  );
  if (creation === undefined) return {};
  const { first = [], fields = fieldsMade(creation) } = DEMO_CALLS[nameOf(creation)] ?? {};
  const name = /[a-z]+(?=_id$)/.exec(id)?.[0].toUpperCase() ?? '';
  const lead: Lead = { call: `POST ${creation.path}`, fields, set: name, take: id };
  return { first: [...first, lead], slots: { [id]: `$${name}` } };
}

/**
 * Returns the shell commands that the REST reference prints for an endpoint. They run in bash and zsh on a new demo
 * organization, whatever calls were made before.
 */
export function printedCall(endpoint: Endpoint): string {
  const { first = [], ...call } = demoCallOf(endpoint);
  const login = endpoint.auth === 'none' ? { login: null } : {};
  const filling = { slots: slotsMade(endpoint), fields: fieldsMade(endpoint), ...login, ...call };
  return [...first.map(leadLine), curlCall(nameOf(endpoint), filling)].join('\n');
}

const slotsMade = ({ path, params }: Endpoint) =>
  Object.fromEntries(slotsOf(path).map((name) => [name, sample(params[name])]));

function fieldsMade(endpoint: Endpoint): Record<string, string> {
  const fields = fieldsOf(endpoint);
  const required = fields.filter(([, { presence }]) => presence === 'required');
  // If all parameters of a write are optional, the call contains one of them, because a write without parameters is rejected.
  const shown = required.length > 0 || endpoint.method === 'GET' ? required : fields.slice(0, 1);
  return Object.fromEntries(shown.map(([name, param]) => [name, isFile(param) ? '@picture.png' : sample(param)]));
}

/** Returns an example value of a parameter, encoded as it is sent. */
function sample(param: Param | undefined): string {
  if (param === undefined) return '';
  if (param.example !== undefined) return param.example;
  const value = sampleOf(schemaOf(param.type, 'input'));
  return param.encoding === 'json' ? JSON.stringify(value) : String(value);
}

function sampleOf(schema: Schema): unknown {
  const [first] = schema.anyOf ?? schema.oneOf ?? [];
  if (first !== undefined) return sampleOf(first);
  if (schema.enum !== undefined) return schema.enum[0];
  if ('const' in schema) return schema.const;
  if (schema.prefixItems !== undefined) return schema.prefixItems.map(sampleOf);
  switch ([schema.type].flat()[0]) {
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1);
    case 'array':
      return typeof schema.items === 'object' ? [sampleOf(schema.items)] : [];
    case 'object':
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, sampleOf(schema.properties?.[name] ?? {})]),
      );
    case 'null':
      return null;
    default:
      return 'text';
  }
}
