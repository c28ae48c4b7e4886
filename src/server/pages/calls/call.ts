import { shellWord } from '../../../api/html.ts';
import type { Method } from '../../../api/rest/endpoint.ts';
import { API_PREFIX } from '../../../api/rest/router.ts';

/** Parts of an example call. In all values, a name like `$DRAFT` is a shell variable. */
export interface Filling {
  /** Values of the path parameters. */
  readonly slots?: Readonly<Record<string, string>>;
  /** Parameters as they are sent. A value that begins with @ is a file. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Credentials of the call. Absent: those of the reader. Null: none. */
  readonly login?: string | null;
}

/** A call that creates what a later call needs, so that the later one runs whatever calls were made before. */
export interface Lead extends Filling {
  readonly call: `${Method} ${string}`;
  /** Shell variable that stores a field of the response. Absent: the call is made for its effect. */
  readonly set?: string;
  /** Name of that field: a number, a text, or the first item of a list. */
  readonly take?: string;
  /** Whether all fields of that name are extracted, separated by commas. */
  readonly all?: true;
}

/** The example call of an endpoint for which a generated call would not run in the demo organization. */
export interface DemoCall extends Filling {
  /** Calls, or lines of shell, that run before. */
  readonly first?: readonly (Lead | string)[];
  /** Error code of the call if only the demo is set up, and the configuration that it needs. */
  readonly refused?: { readonly code: string; readonly needs: string };
}

/** Calls by method and path: "GET /drafts". */
export type DemoCalls = Readonly<Record<string, DemoCall>>;

/** Returns a text as a shell word, made of quoted parts and variables such as `$NAME`. */
export function shellText(text: string): string {
  const parts = text.split(/(\$[A-Z]+)/).filter((part) => part !== '');
  return parts.length === 0 ? "''" : parts.map((part) => (/^\$[A-Z]+$/.test(part) ? part : shellWord(part))).join('');
}

/** Returns a curl command, with one line for each field. @param quiet Suppresses curl's own output. */
export function curlCall(
  call: string,
  { slots = {}, fields = {}, login = '$EMAIL:$KEY' }: Filling,
  quiet = false,
): string {
  const [method = '', path = ''] = call.split(' ');
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => inUrl(slots[name] ?? ''));
  const isUpload = Object.values(fields).some((value) => value.startsWith('@'));
  const names = Object.keys(fields);
  const flags = [
    'curl',
    ...(quiet ? ['-s'] : []),
    ...(method !== 'GET' ? [`-X ${method}`] : names.length > 0 ? ['-G'] : []),
    ...(login === null ? [] : [`-u "${login}"`]),
    `"$URL${API_PREFIX}${filled}"`,
  ];
  const data = names.map((name) => `${isUpload ? '-F' : '--data-urlencode'} ${shellText(`${name}=${fields[name]}`)}`);
  return [flags.join(' '), ...data].join(' \\\n  ');
}

/** Returns a value encoded for a path, except for variables. */
const inUrl = (value: string) =>
  value
    .split(/(\$[A-Z]+)/)
    .map((part) => (part.startsWith('$') ? part : encodeURIComponent(part)))
    .join('');

/** Returns the shell command that precedes a call. */
export const leadLine = (lead: Lead | string): string => (typeof lead === 'string' ? lead : leadCall(lead));

function leadCall({ call, set, take = '', all, ...filling }: Lead): string {
  const curl = curlCall(call, filling, true);
  if (set === undefined) return `${curl} > /dev/null`;
  return `${set}=$(${curl} |\n  ${all === true ? takeAll(take) : takeOne(take)})`;
}

/** Returns a shell filter that extracts one field of a response: a text, a number, or the first item of a list. */
export const takeOne = (field: string): string => `sed -E 's/.*"${field}":\\[?"?([^],"}]+).*/\\1/'`;

/** Returns a shell filter like `takeOne` that extracts every number under that name. */
const takeAll = (field: string): string => `grep -oE '"${field}":[0-9]+' | cut -d: -f2 | paste -sd, -`;
